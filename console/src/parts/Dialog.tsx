import { Alert, Button, type ButtonProps, Modal, type ModalProps, Stack, Text } from '@mantine/core'
import { modals } from '@mantine/modals'
import { useBlocker } from '@tanstack/react-router'
import { createContext, type ReactNode, type RefObject, useContext, useLayoutEffect, useRef, useState } from 'react'
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

/**
 * A modal whose close button has a name for screen readers. What was typed into its form is lost only after a question,
 * whichever way it is left: Escape, a click beside it, its close button, or the browser's.
 */
export function Dialog<Shown>({
  name,
  of,
  close,
  sealed = false,
  held = sealed,
  children,
  ...props
}: DialogProps<Shown>) {
  const unsaved = useRef(false)
  const isOpen = of !== null && of !== false
  const leave = async (): Promise<boolean> => {
    const leaves = !unsaved.current || (await isDiscarded())
    if (leaves) close()
    return leaves
  }
  useBlocker({
    // A page that a form leads to when it is done has what was typed.
    shouldBlockFn: async ({ action }) =>
      unsaved.current && (action === 'BACK' || action === 'FORWARD') && !(await leave()),
    disabled: !isOpen,
    enableBeforeUnload: false,
  })
  return (
    <Modal
      opened={isOpen}
      onClose={() => isTaken() || void leave()}
      closeOnClickOutside={!held}
      closeOnEscape={!held}
      withCloseButton={!sealed}
      {...dialogName(name)}
      {...props}
    >
      {isOpen && (
        <Unsaved value={unsaved}>
          <Focused>{typeof children === 'function' ? children(of) : children}</Focused>
        </Unsaved>
      )}
    </Modal>
  )
}

/** Marks the event that closes a question, so that the Escape key does not close the dialog under it too. */
function take(): void {
  window.event?.preventDefault()
}

function isTaken(): boolean {
  return window.event?.defaultPrevented === true
}

const Unsaved = createContext<RefObject<boolean> | null>(null)

/** Tells the dialog around a form what is in it: as it was at first, or not. `null` = it is saved. */
export function useUnsaved(values: object | null): void {
  const unsaved = useContext(Unsaved)
  const text = JSON.stringify(values)
  const [first] = useState(text)
  const isUnsaved = values !== null && text !== first
  // At once, as the next key may be Escape.
  useLayoutEffect(() => {
    if (unsaved === null) return undefined
    unsaved.current = isUnsaved
    return () => void (unsaved.current = false)
  }, [unsaved, isUnsaved])
}

/** Asks before what was typed is lost. */
export async function isDiscarded(): Promise<boolean> {
  return new Promise((resolve) =>
    confirm({
      name: 'discard',
      title: t('common.discard_ask'),
      text: t('common.discard_text'),
      act: t('common.discard'),
      keep: t('common.discard_not'),
      onConfirm: () => resolve(true),
      onClose: () => resolve(false),
    }),
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
      // The dialog may not have taken the focus yet: then it gives it to the field.
      current.removeAttribute('data-autofocus')
      field.setAttribute('data-autofocus', '')
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
  /** The label of the button that does nothing; absent = Cancel. */
  readonly keep?: string
  readonly harmful?: boolean
  readonly onConfirm: () => void
  /** Called whatever was answered, after `onConfirm`. */
  readonly onClose?: () => void
}

const FOCUSED = { 'data-autofocus': true }

/** Asks before something that cannot be taken back. */
export function confirm({ name, title, text, act, keep, harmful = true, onConfirm, onClose }: Question): void {
  // A double click is one answer.
  let isAnswered = false
  modals.openConfirmModal({
    ...dialogName(name),
    title,
    children: <Text size="sm">{text}</Text>,
    labels: { confirm: act ?? t('common.delete'), cancel: keep ?? t('common.cancel') },
    // Enter must not do harm.
    confirmProps: harmful ? { color: 'red.8' } : FOCUSED,
    cancelProps: harmful ? FOCUSED : {},
    onConfirm: () => {
      if (!isAnswered) onConfirm()
      isAnswered = true
    },
    onClose: () => {
      take()
      onClose?.()
    },
  })
}

/** Opens a dialog over whatever is open; returns the function that closes it. */
export function ask({
  name,
  title,
  content,
  onClose,
}: Pick<Question, 'name' | 'title'> & { readonly content: ReactNode; readonly onClose: () => void }): () => void {
  const id = modals.open({
    ...dialogName(name),
    title,
    children: <Focused>{content}</Focused>,
    onClose: () => {
      take()
      onClose()
    },
  })
  return () => modals.close(id)
}
