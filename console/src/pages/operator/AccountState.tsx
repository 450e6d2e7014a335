import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { AccountStatus } from '../../../../src/api/admin/account-contract.ts'
import { StatusBadge } from '../../parts/StatusBadge.tsx'

export function AccountState({ status }: { readonly status: AccountStatus }): ReactNode {
  const { t } = useTranslation()
  return (
    <StatusBadge tone={status === 'active' ? 'good' : status === 'locked' ? 'warn' : 'bad'}>
      {t(`accounts.${status}`)}
    </StatusBadge>
  )
}
