import { Button, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useState, type ComponentType, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Statement } from '../../../../src/ledger/statement.ts'
import { lastDays } from '../../parts/day-range.ts'
import { Facts } from '../../parts/Facts.tsx'
import { PrinterIcon } from '../../parts/icons.ts'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import type { PageProps } from '../../parts/Page.tsx'
import { RangeFields } from '../../parts/RangeFields.tsx'
import { Section } from '../../parts/Section.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'

const DEFAULT_DAYS = 30

/** The days of a statement that a page shows, and the field to change them. */
export function useStatementDays() {
  return useState(lastDays(DEFAULT_DAYS))
}

/** A page with a statement to print, for its owner or for the operator: opening balance, every line, closing balance. */
export function StatementView({
  page: PageOf,
  days: [range, setRange],
  statement,
}: {
  readonly page: ComponentType<PageProps>
  readonly days: ReturnType<typeof useStatementDays>
  readonly statement: UseQueryResult<Statement>
}): ReactNode {
  const { t } = useTranslation()
  return (
    <PageOf
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
    </PageOf>
  )
}

function StatementSheet({ statement }: { readonly statement: Statement }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const { account, totals } = statement
  return (
    <>
      <Section title={t('statement.of', format.span(statement.from, statement.to))}>
        <div className={css.halves}>
          <Facts
            items={[
              [t('statement.account'), account.name],
              [t('entry.email'), account.email],
              [
                t('statement.number'),
                <span key="id" className={css.mono}>
                  {account.id}
                </span>,
              ],
              [t('statement.issued'), format.dateTime(statement.issued_at)],
              [t('statement.state'), t(statement.closed ? 'statement.closed' : 'statement.open')],
            ]}
          />
          <Facts
            items={[
              [t('statement.opening'), format.money(statement.opening)],
              [t('ledger.topup'), format.money(totals.topup)],
              [t('ledger.refund'), format.money(totals.refund)],
              [t('ledger.adjustment'), format.money(totals.adjustment)],
              [t('ledger.charge'), format.money(totals.charge)],
              [
                t('statement.closing'),
                <Text key="closing" span fw={700}>
                  {format.money(statement.closing)}
                </Text>,
              ],
            ]}
          />
        </div>
      </Section>
      <List
        label={t('nav.statement')}
        rows={statement.lines.map((line, index) => ({ ...line, index }))}
        rowId={({ index }) => index}
        empty={{ title: t('statement.none') }}
        columns={[
          {
            id: 'day',
            title: t('statement.day'),
            cell: ({ day, of_day: ofDay }) =>
              ofDay === null ? format.day(day) : t('statement.later', { day: format.day(day), of: format.day(ofDay) }),
          },
          { id: 'kind', title: t('ledger.kind'), cell: ({ kind }) => t(`ledger.${kind}`) },
          { id: 'text', title: t('statement.text'), cell: ({ text }) => text },
          {
            id: 'requests',
            title: t('usage.requests'),
            end: true,
            cell: ({ requests }) => (requests === null ? '' : format.number(requests)),
          },
          { id: 'amount', title: t('money.amount'), end: true, cell: ({ amount }) => format.moneyInColumn(amount) },
        ]}
      />
    </>
  )
}
