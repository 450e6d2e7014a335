import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiFailure } from '../api/call.ts'
import { RetryIcon } from './icons.ts'

interface RetryButtonProps {
  readonly failure: unknown
  readonly retry: () => void
  readonly reload?: () => void
}

/** Tries again what failed. What a new release of the console has replaced comes only with the page. */
export function RetryButton({ failure, retry, reload = () => window.location.reload() }: RetryButtonProps): ReactNode {
  const { t } = useTranslation()
  const isOld = failure instanceof ApiFailure && failure.errorType === 'released'
  return (
    <Button mt="sm" size="xs" variant="default" leftSection={<RetryIcon size={16} />} onClick={isOld ? reload : retry}>
      {t(isOld ? 'failure.reload' : 'common.retry')}
    </Button>
  )
}
