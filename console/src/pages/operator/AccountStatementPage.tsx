import { Button } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRead } from '../../api/hooks.ts'
import { lastDays } from '../../parts/day-range.ts'
import { PrinterIcon } from '../../parts/icons.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { RangeFields } from '../../parts/RangeFields.tsx'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'
import { StatementSheet } from '../money/StatementSheet.tsx'

const DEFAULT_DAYS = 30

/** The statement of an account as its owner sees it. */
export function AccountStatementPage(): ReactNode {
  const { t } = useTranslation()
  const { id } = useParams({ from: '/operator/accounts/$id/statement' })
  const [range, setRange] = useState(lastDays(DEFAULT_DAYS))
  const statement = useRead('GET /admin/v1/accounts/:id/statement', { params: { id }, query: range }, { keep: true })
  return (
    <OperatorPage
      title={t('nav.statement')}
      lead={<span className="off-paper">{t('statement.lead')}</span>}
      actions={
        <Button
          leftSection={<PrinterIcon size={17} />}
          onClick={() => window.print()}
          disabled={statement.data === undefined}
        >
          {t('statement.print')}
        </Button>
      }
    >
      <div className={`${css.fields} off-paper`}>
        <RangeFields range={range} change={setRange} />
      </div>
      <Loaded of={statement} height={460}>
        {(answer) => <StatementSheet statement={answer} />}
      </Loaded>
    </OperatorPage>
  )
}
