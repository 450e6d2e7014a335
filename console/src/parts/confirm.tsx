import { Text } from '@mantine/core'
import { modals } from '@mantine/modals'
import i18n from 'i18next'
import { dialogName } from './dialog-name.ts'

export interface Question {
  /** As of a dialog. */
  readonly name: string
  readonly title: string
  readonly text: string
  /** The label of the confirming button. */
  readonly act: string
  readonly harmful?: boolean
  readonly onConfirm: () => void
}

/** Asks before something that cannot be taken back. */
export function confirm({ name, title, text, act, harmful = true, onConfirm }: Question): void {
  modals.openConfirmModal({
    ...dialogName(name),
    title,
    children: <Text size="sm">{text}</Text>,
    labels: { confirm: act, cancel: i18n.t('common.cancel') },
    closeButtonProps: { 'aria-label': i18n.t('common.close') },
    confirmProps: harmful ? { color: 'red.8' } : {},
    onConfirm,
  })
}
