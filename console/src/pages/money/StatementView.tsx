import { Button } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { type ComponentType, Fragment } from 'react'
import type { Statement } from '../../../../src/api/records/statement.ts'
import { useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { RangeFields, useRange } from '../../parts/RangeFields.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Facts, Page, type PageProps, Section, Tile } from '../../parts/Page.tsx'
import { PrinterIcon } from '../../parts/icons.ts'
import { format, t } from '../../parts/words.ts'

interface StatementViewProps {
  readonly page: ComponentType<PageProps>
  readonly days: ReturnType<typeof useRange>
  readonly statement: UseQueryResult<Statement>
}

/**
 * A page with a statement that can be printed, for its owner or for the operator: opening balance, every line, closing
 * balance.
 */
export function StatementView({ page: PageOf, days, statement }: StatementViewProps) {
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
      <div className="fields off-paper">
        <RangeFields {...days} />
      </div>
      <Loaded of={statement} height={460}>
        {(answer) => <StatementSheet statement={answer} />}
      </Loaded>
    </PageOf>
  )
}

function StatementSheet({ statement }: { readonly statement: Statement }) {
  const { account, totals } = statement
  return (
    <>
      <div className="tiles">
        <Tile
          lead
          label={t('statement.closing')}
          money={statement.closing}
          note={t('statement.of', format.span(statement.from, statement.to))}
        />
      </div>
      <div className="halves">
        <Section title={t('statement.sums')}>
          <Sums
            items={[
              [t('statement.opening'), statement.opening],
              [t('ledger.topup'), totals.topup],
              [t('ledger.refund'), totals.refund],
              [t('ledger.adjustment'), totals.adjustment],
              [t('ledger.charge'), totals.charge],
              [t('statement.closing'), statement.closing],
            ]}
          />
        </Section>
        <Section title={t('statement.account')}>
          <Facts
            items={[
              [t('entry.name'), account.name],
              [t('entry.email'), account.email],
              [
                t('statement.number'),
                <span key="id" className="mono">
                  {account.id}
                </span>,
              ],
              [t('statement.issued'), format.dateTime(statement.issued_at)],
              [t('statement.state'), t(statement.closed ? 'statement.closed' : 'statement.open')],
            ]}
          />
        </Section>
      </div>
      <Lines lines={statement.lines} />
    </>
  )
}

function Lines({ lines }: Pick<Statement, 'lines'>) {
  return (
    <DataList
      name="statement"
      printed
      label={t('nav.statement')}
      rows={lines.map((line, index) => ({ ...line, index }))}
      rowId={({ index }) => index}
      empty={{ picture: 'money', title: t('statement.none') }}
      columns={[
        {
          id: 'day',
          title: t('statement.day'),
          value: 'day',
          cell: ({ day, of_day: ofDay }) =>
            ofDay === null ? format.day(day) : t('statement.later', { day: format.day(day), of: format.day(ofDay) }),
        },
        { id: 'kind', title: t('ledger.kind'), value: ({ kind }) => t(`ledger.${kind}`) },
        { id: 'text', title: t('statement.text'), value: ({ text }) => text },
        { id: 'requests', title: t('usage.requests'), as: 'count', none: '', value: ({ requests }) => requests },
        { id: 'amount', title: t('money.amount'), as: 'exact', value: ({ amount }) => amount },
      ]}
    />
  )
}

/** Amounts that add up to the last one. */
function Sums({ items }: { readonly items: readonly (readonly [name: string, rub: number])[] }) {
  return (
    <dl className="sums">
      {items.map(([name, rub], index) => {
        const className = index === items.length - 1 ? 'sums-last' : undefined
        return (
          <Fragment key={name}>
            <dt className={className}>{name}</dt>
            <dd className={className}>{format.exactRubles(rub)}</dd>
          </Fragment>
        )
      })}
    </dl>
  )
}

/** The statement of the user's own account. */
export function StatementPage() {
  const days = useRange()
  const statement = useRead('GET /cabinet/v1/statement', { query: days.range }, { keep: true })
  return <StatementView page={Page} days={days} statement={statement} />
}
