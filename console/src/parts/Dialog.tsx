import { Alert, Button, type ButtonProps, Modal, type ModalProps, Stack, Text } from '@mantine/core'
import { modals } from '@mantine/modals'
import { type ReactNode, useState } from 'react'
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
      {isOpen && (typeof children === 'function' ? children(of) : children)}
    </Modal>
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

/** Asks before something that cannot be taken back. */
export function confirm({ name, title, text, act, harmful = true, onConfirm }: Question): void {
  modals.openConfirmModal({
    ...dialogName(name),
    title,
    children: <Text size="sm">{text}</Text>,
    labels: { confirm: act ?? t('common.delete'), cancel: t('common.cancel') },
    confirmProps: harmful ? { color: 'red.8' } : {},
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
  const id = modals.open({ ...dialogName(name), title, children: content, onClose })
  return () => modals.close(id)
}
