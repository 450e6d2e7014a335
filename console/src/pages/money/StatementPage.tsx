import type { ReactNode } from 'react'
import { useRead } from '../../api/hooks.ts'
import { Page } from '../../parts/Page.tsx'
import { StatementView, useStatementDays } from './StatementView.tsx'

/** The statement of the user's own account. */
export function StatementPage(): ReactNode {
  const days = useStatementDays()
  const statement = useRead('GET /cabinet/v1/statement', { query: days[0] }, { keep: true })
  return <StatementView page={Page} days={days} statement={statement} />
}
