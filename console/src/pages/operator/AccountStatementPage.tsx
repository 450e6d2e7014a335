import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useRead } from '../../api/hooks.ts'
import { StatementView, useStatementDays } from '../money/StatementView.tsx'
import { OperatorPage } from './OperatorPage.tsx'

/** The statement of an account as its owner sees it. */
export function AccountStatementPage(): ReactNode {
  const { id } = useParams({ from: '/operator/accounts/$id/statement' })
  const days = useStatementDays()
  const input = { params: { id }, query: days[0] }
  const statement = useRead('GET /admin/v1/accounts/:id/statement', input, { keep: true })
  return <StatementView page={OperatorPage} days={days} statement={statement} />
}
