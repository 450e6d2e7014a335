import { Button, type ButtonProps, Text, type TextProps } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { createLink } from '@tanstack/react-router'
import clsx from 'clsx'
import { type ComponentProps, type MouseEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import type { ErrorType } from '../../../src/base/errors.ts'
import css from '../style/list.module.css'
import { errorName } from './failure-text.ts'
import { plainNumber } from './number-text.ts'
import { format, t } from './words.ts'

/** A text on one line. If it is cut off, a tooltip shows all of it on hover and on focus, which a tap also gives. */
export function Clip({ text, mono = false }: { readonly text: string; readonly mono?: boolean }) {
  const line = useRef<HTMLSpanElement>(null)
  const [isCut, setCut] = useState(false)
  useEffect(() => {
    const element = line.current
    if (element === null) return undefined
    const watch = new ResizeObserver(() => {
      // On focus the whole text is shown, and the element must stay focusable.
      if (document.activeElement !== element) setCut(element.scrollWidth > element.clientWidth)
    })
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  return (
    <span ref={line} className={clsx(css.clip, mono && 'mono')} {...(isCut ? { tabIndex: 0, title: text } : {})}>
      {text}
    </span>
  )
}

interface MomentProps {
  readonly at: string
  readonly as?: 'moment' | 'date' | 'ago'
  /** The sentence around the time. */
  readonly said?: (when: string) => string
}

/** A time in the short form for a list; a tooltip shows all of it. */
export function Moment({ at, as = 'moment', said = (when) => when }: MomentProps) {
  return (
    <time dateTime={at} title={format.dateTime(at)}>
      {said(format[as](at))}
    </time>
  )
}

export type Tone = 'good' | 'bad' | 'warn' | 'quiet'

/** A word with a colour for its meaning. It is a plain element, because long lists have hundreds of them. */
export function StatusBadge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return <span className={`badge badge-${tone}`}>{children}</span>
}

const ENDS = { completed: 'good', error: 'bad', cancelled: 'quiet' } as const

/** How a request ended; for a failed one, the cause. It is not a component, as long lists have hundreds of them. */
export function requestEnd({
  status,
  error_type: cause,
}: {
  readonly status: keyof typeof ENDS
  readonly error_type: ErrorType | null
}) {
  const text = status === 'error' && cause !== null ? errorName(cause) : t(`status.${status}`)
  return <StatusBadge tone={ENDS[status]}>{text}</StatusBadge>
}

/** An amount in kopecks. Its tooltip has all digits, and a click copies them. */
export function Money({ of }: { readonly of: number }) {
  return (
    <data value={plainNumber(of)} title={format.exactRubles(of)}>
      {format.money(of)}
    </data>
  )
}

/** Copies the amount that was clicked, unless the click opens a link. */
export async function copyAmount({ target }: MouseEvent): Promise<void> {
  const amount = target instanceof Element ? target.closest('data') : null
  if (amount === null || amount.closest('a, button') !== null) return
  try {
    await navigator.clipboard.writeText(amount.value)
    notifications.show({ message: t('common.copied'), color: 'sea' })
  } catch {
    // The browser refuses, or the page came over plain HTTP: the tooltip has the amount.
  }
}

type PressProps = ButtonProps & Omit<ComponentProps<'button'>, keyof ButtonProps> & { readonly text: string }

/** A button that says what it does. */
export function Press({ text, ...props }: PressProps) {
  return <Button {...props}>{text}</Button>
}

/** A small text beside what a page is about. */
export function Note(props: TextProps & ComponentProps<'p'>) {
  return <Text size="sm" c="dimmed" {...props} />
}

/** Words of a program, which are English. */
export function Said({ text }: { readonly text: string }) {
  return (
    <code className="mono" lang="en">
      {text}
    </code>
  )
}

function ButtonAnchor(props: ButtonProps & Omit<ComponentProps<'a'>, keyof ButtonProps>) {
  return <Button component="a" {...props} />
}

/** A button that is a link to a page, with typed parameters. */
export const ButtonLink = createLink(ButtonAnchor)
