import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { AccountLimit } from '../../../src/api/records/account-limit-contract.ts'
import { LimitBar } from './LimitBar.tsx'
import { Tile } from './Tile.tsx'
import { useFormat } from './use-format.ts'

/** What is used of the limit that all keys of an account have together, and when it starts again. */
export function SpendingLimitTile({ of }: { readonly of: AccountLimit }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const { limit, limit_reset: reset, limit_used: used, limit_resets_at: resetsAt } = of
  if (limit === null || used === null) return null
  const text = t('limits.used_of', { used: format.money(used), limit: format.money(limit) })
  return (
    <Tile
      label={reset === null ? t('limits.total') : t(`limits.${reset}`)}
      value={format.money(used)}
      note={
        <>
          <LimitBar share={limit === 0 ? 1 : used / limit} label={text} />
          <div>{t('limits.of', { limit: format.money(limit) })}</div>
          {resetsAt !== null && <div>{t('limits.resets', { when: format.moment(resetsAt) })}</div>}
        </>
      }
    />
  )
}
