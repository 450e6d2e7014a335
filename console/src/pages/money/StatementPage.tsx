import { Button } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRead } from '../../api/hooks.ts'
import { lastDays } from '../../parts/day-range.ts'
import { PrinterIcon } from '../../parts/icons.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { RangeFields } from '../../parts/RangeFields.tsx'
import css from '../../style/layout.module.css'
import { StatementSheet } from './StatementSheet.tsx'

const DEFAULT_DAYS = 30

/** Opening balance, every line, closing balance: to print or to save. */
export function StatementPage(): ReactNode {
  const { t } = useTranslation()
  const [range, setRange] = useState(lastDays(DEFAULT_DAYS))
  const statement = useRead('GET /cabinet/v1/statement', { query: range }, { keep: true })
  return (
    <Page
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
    </Page>
  )
}
