import { Modal, type ModalProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { dialogName } from './dialog-name.ts'

interface DialogProps extends ModalProps {
  /** A word of its own, which stands first in its source. */
  readonly name: string
}

/** A modal whose close button has a name for screen readers. */
export function Dialog({ name, ...props }: DialogProps): ReactNode {
  const { t } = useTranslation()
  return <Modal closeButtonProps={{ 'aria-label': t('common.close') }} {...dialogName(name)} {...props} />
}
