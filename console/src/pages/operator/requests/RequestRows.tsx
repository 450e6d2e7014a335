import clsx from 'clsx'
import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Generation } from '../../../../../src/admin/report-contract.ts'
import { Empty } from '../../../parts/Loaded.tsx'
import { useFormat } from '../../../parts/use-format.ts'
import { RequestStatus } from './RequestStatus.tsx'
import type { RequestSearch } from './request-search.ts'
import css from './requests.module.css'

const COLUMNS = ['time', 'model', 'account', 'status', 'tokens', 'duration', 'cost', 'revenue'] as const

export interface RequestRowsProps {
  readonly rows: readonly Generation[]
  readonly search: RequestSearch
  readonly opened: string | null
}

/** A line for each request, so that twenty fit a screen. A line is a link that opens its request. */
export function RequestRows({ rows, search, opened }: RequestRowsProps): ReactNode {
  const { t } = useTranslation()
  const titles: Readonly<Record<(typeof COLUMNS)[number], string>> = {
    time: t('log.time'),
    model: t('usage.model'),
    account: t('requests.account'),
    status: t('log.status'),
    tokens: t('log.tokens'),
    duration: t('log.duration'),
    cost: t('margin.provider_cost'),
    revenue: t('margin.revenue'),
  }
  // Rows that came after the first answer for these filters light up once.
  const [known] = useState(() => Math.max(0, ...rows.map(({ id }) => id)))
  if (rows.length === 0)
    return (
      <div className={css.frame}>
        <Empty title={t('log.none')} text={t('requests.none_text')} />
      </div>
    )
  return (
    <div className={css.frame} role="region" aria-label={t('nav.requests')} tabIndex={0}>
      <table className={css.rows} role="table" aria-label={t('nav.requests')}>
        <thead role="rowgroup">
          <tr role="row">
            {COLUMNS.map((name) => (
              <th key={name} scope="col" role="columnheader" className={css[name]}>
                {titles[name]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <Row
              key={row.id}
              row={row}
              search={search}
              isOpened={row.generation_id === opened}
              isFresh={row.id > known}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row({
  row,
  search,
  isOpened,
  isFresh,
}: {
  readonly row: Generation
  readonly search: RequestSearch
  readonly isOpened: boolean
  readonly isFresh: boolean
}): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <tr role="row" className={clsx(isOpened && css.opened, isFresh && css.fresh)}>
      <td role="cell" className={css.time}>
        <Link
          to="/operator/requests"
          search={{ ...search, request: row.generation_id }}
          preload={false}
          className={css.open}
          aria-label={`${format.dateTime(row.timestamp)}, ${row.model_name}`}
          title={format.dateTime(row.timestamp)}
        >
          <time dateTime={row.timestamp}>{format.moment(row.timestamp)}</time>
        </Link>
      </td>
      <td role="cell" className={css.model} title={row.model_name}>
        {row.model_name} <span className={css.by}>{row.provider_name}</span>
      </td>
      <td role="cell" className={css.account} title={`${row.account_name} · ${row.key_name}`}>
        {row.account_name === '' ? row.account : row.account_name} <span className={css.by}>{row.key_name}</span>
      </td>
      <td role="cell" className={css.status}>
        {row.status === 'completed' ? (
          <span className={css.done}>{t('status.completed')}</span>
        ) : (
          <RequestStatus row={row} />
        )}
        {row.flagged && (
          <span className={css.mark} title={t('requests.flagged')}>
            !<span className={css.hidden}>{t('requests.flagged')}</span>
          </span>
        )}
      </td>
      <td role="cell" className={css.tokens}>
        {format.number(row.input_tokens)} → {format.number(row.output_tokens)}
      </td>
      <td role="cell" className={css.duration}>
        {format.duration(row.duration_ms)}
      </td>
      <td role="cell" className={css.cost}>
        {format.moneyInColumn(row.provider_cost)}
      </td>
      <td
        role="cell"
        className={css.revenue}
        title={row.shortfall > 0 ? t('requests.shortfall', { amount: format.money(row.shortfall) }) : undefined}
      >
        {format.moneyInColumn(row.total_cost)}
        {row.shortfall > 0 && <span className={css.mark}>−</span>}
      </td>
    </tr>
  )
}
