import { Modal, type ModalProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'

/** A modal whose close button has a name for screen readers. */
export function Dialog(props: ModalProps): ReactNode {
  const { t } = useTranslation()
  return <Modal closeButtonProps={{ 'aria-label': t('common.close') }} {...props} />
}
