import { Alert, Button, type ButtonProps, Modal, type ModalProps, Stack, Text } from '@mantine/core'
import { modals } from '@mantine/modals'
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { CopyBlock } from './Copy.tsx'
import { PlusIcon } from './icons.ts'
import { t } from './words.ts'
import { Press } from './cells.tsx'

/** Marks a dialog in the page with its name: a test opens each name that the source has. */
export function dialogName(name: string): Readonly<Record<string, string>> {
  return { 'data-dialog': name }
}

interface DialogProps<Shown> extends Pick<ModalProps, 'title' | 'size'> {
  /** A unique word; it is the first prop in the source. */
  readonly name: string
  /** The value that it shows; null or false = it is closed. */
  readonly of: Shown | null | false
  readonly close: () => void
  /** Only its own button closes it, since what it shows is not shown again. */
  readonly sealed?: boolean
  /** A click outside and the Escape key do not close it. */
  readonly held?: boolean
  readonly children: ReactNode | ((shown: Shown) => ReactNode)
}

/** A modal whose close button has a name for screen readers. */
export function Dialog<Shown>({
  name,
  of,
  close,
  sealed = false,
  held = sealed,
  children,
  ...props
}: DialogProps<Shown>) {
  const [isTyped, setTyped] = useState(false)
  const isOpen = of !== null && of !== false
  if (isTyped && !isOpen) setTyped(false)
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      // What was typed is not lost by a click beside the dialog.
      closeOnClickOutside={!held && !isTyped}
      closeOnEscape={!held}
      onInput={() => setTyped(true)}
      withCloseButton={!sealed}
      {...dialogName(name)}
      {...props}
    >
      {isOpen && <Focused>{typeof children === 'function' ? children(of) : children}</Focused>}
    </Modal>
  )
}

const FIELDS = 'input:not([type=hidden]):enabled, textarea:enabled, select:enabled'

/** The focus of a dialog begins at its first field, or its first button, and not at the one that closes it. */
function Focused({ children }: { readonly children: ReactNode }) {
  const body = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const { current } = body
    if (current === null || current.querySelector('[data-autofocus]') !== null) return undefined
    const first = current.querySelector(FIELDS) ?? current.querySelector('button:enabled, a[href]') ?? current
    first.setAttribute('data-autofocus', '')
    // A form that is loaded later takes the focus if nothing else has it.
    const watch = new MutationObserver(() => {
      const field = current.querySelector<HTMLElement>(FIELDS)
      if (field === null) return
      watch.disconnect()
      if (document.activeElement === current) field.focus()
    })
    if (first === current) watch.observe(current, { childList: true, subtree: true })
    return () => watch.disconnect()
  }, [])
  return (
    <div ref={body} tabIndex={-1} className="focused">
      {children}
    </div>
  )
}

interface SecretProps {
  readonly text: string
  readonly label: string
  readonly warning: string
  /** The label of the button that closes the dialog, if only that button does. */
  readonly kept?: string
  readonly close?: () => void
  readonly children?: ReactNode
}

/** A whole text that is shown only this time. */
export function Secret({ text, label, warning, kept, close, children }: SecretProps) {
  return (
    <Stack>
      <Alert color="yellow">{warning}</Alert>
      <CopyBlock text={text} label={label} />
      {children}
      {kept !== undefined && <Press ml="auto" onClick={close} text={kept} />}
    </Stack>
  )
}

/** A button that opens a form for a new record. */
export function AddButton(props: ButtonProps & { readonly onClick: () => void; readonly children: string }) {
  return <Button leftSection={<PlusIcon size={17} />} {...props} />
}

export interface Question {
  /** As of a dialog. */
  readonly name: string
  readonly title: string
  readonly text: string
  /** The label of the confirming button; absent = Delete. */
  readonly act?: string
  readonly harmful?: boolean
  readonly onConfirm: () => void
}

const FOCUSED = { 'data-autofocus': true }

/** Asks before something that cannot be taken back. */
export function confirm({ name, title, text, act, harmful = true, onConfirm }: Question): void {
  modals.openConfirmModal({
    ...dialogName(name),
    title,
    children: <Text size="sm">{text}</Text>,
    labels: { confirm: act ?? t('common.delete'), cancel: t('common.cancel') },
    // Enter must not do harm.
    confirmProps: harmful ? { color: 'red.8' } : FOCUSED,
    cancelProps: harmful ? FOCUSED : {},
    onConfirm,
  })
}

/** Opens a dialog over whatever is open; returns the function that closes it. */
export function ask({
  name,
  title,
  content,
  onClose,
}: Pick<Question, 'name' | 'title'> & { readonly content: ReactNode; readonly onClose: () => void }): () => void {
  const id = modals.open({ ...dialogName(name), title, children: <Focused>{content}</Focused>, onClose })
  return () => modals.close(id)
}
