import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Generation } from '../../../../../src/api/admin/report-contract.ts'
import { errorName } from '../../../parts/failure-text.ts'
import { StatusBadge } from '../../../parts/StatusBadge.tsx'

/** How a request ended; a failed one by its cause. */
export function RequestStatus({
  row: { status, error_type: error },
}: {
  readonly row: Pick<Generation, 'status' | 'error_type'>
}): ReactNode {
  const { t } = useTranslation()
  return (
    <StatusBadge tone={status === 'completed' ? 'good' : status === 'error' ? 'bad' : 'quiet'}>
      {status === 'error' && error !== null ? errorName(error) : t(`status.${status}`)}
    </StatusBadge>
  )
}
