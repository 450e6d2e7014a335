import { useMediaQuery } from '@mantine/hooks'
import { useVirtualizer } from '@tanstack/react-virtual'
import clsx from 'clsx'
import { type CSSProperties, memo, type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { ErrorType } from '../../../../src/base/errors.ts'
import type { GenerationStatus } from '../../../../src/ledger/generation-record.ts'
import { Money, requestEnd } from '../../parts/cells.tsx'
import type { Column } from '../../parts/List.tsx'
import { ListTools, useListChoice } from '../../parts/ListTools.tsx'
import { onRowLink, rowLink } from '../../parts/row-link.ts'
import { format, t, useReader } from '../../parts/words.ts'
import list from '../../style/list.module.css'
import css from './log.module.css'

/** A request as a line of the log, for its customer and for the operator. */
export interface Line {
  readonly id: string
  readonly at: string
  readonly model: string
  readonly provider: string | null
  /** Whose it is: the account for the operator, the key for the customer; and more of that. */
  readonly who: string
  readonly by: string | null
  readonly status: GenerationStatus
  readonly error: ErrorType | null
  readonly input: number
  readonly output: number
  readonly ms: number
  readonly cost: number
  /** What only the operator sees. */
  readonly providerCost?: number
  readonly shortfall?: number
  readonly flagged?: boolean
}

const ROW_PX = 40
const DENSE_ROW_PX = 26
const PHONE_ROW_PX = 78
/** Rows that are drawn above and below the visible part, so that a fast scroll shows no gap. */
const SPARE_ROWS = 8
const HIDDEN: readonly string[] = ['input', 'output', 'id']

export interface LogRowsProps {
  /** The side's name, under which the browser stores its settings. */
  readonly name: 'log' | 'requests'
  readonly label: string
  readonly lines: readonly Line[]
  readonly who: string
  /** Beside the tools of the list. */
  readonly tools: ReactNode
  /** The address of a file of all rows. */
  readonly file: string
  /** Identifies the filters of the rows: with other filters the list starts at the top. */
  readonly asked: string
  /** The rows belong to the previous filters, since the new answer is not there yet. */
  readonly old?: boolean
  /** A long list that scrolls by itself, and asks for more before its end; absent = a page. */
  readonly long?: { readonly near: (last: number) => void; readonly foot: ReactNode; readonly ended: boolean }
  readonly opened: string | null
  readonly open: (id: string) => void
  readonly addressOf: (id: string) => string
}

/** The rows of the log: one line each, which is a link that opens its request. */
export function LogRows(props: LogRowsProps) {
  return props.lines.length === 0 ? <div className={css.tools}>{props.tools}</div> : <Table {...props} />
}

function Table(props: LogRowsProps) {
  const { name, label, lines, who, tools, file, asked, old = false, long, opened, open, addressOf } = props
  const reader = useReader()
  const [choice, choose] = useListChoice(name, { hidden: HIDDEN, dense: true })
  const columns = useMemo(() => columnsOf(name === 'requests', who, addressOf), [reader, name, who, addressOf])
  const seen = useMemo(
    () => columns.filter(({ id }, index) => index === 0 || !choice.hidden.includes(id)),
    [columns, choice.hidden],
  )
  const { frame, items, top, last, allPx, rowHeight } = useRowsInSight(lines.length, choice.dense, long !== undefined)
  useLayoutEffect(() => {
    if (frame.current !== null) frame.current.scrollTop = 0
  }, [frame, asked])
  const near = long?.near
  useEffect(() => near?.(last), [near, last])
  // Rows that arrive after the first answer for these filters are highlighted once.
  const [known] = useState(() => lines.reduce((newest, { at }) => (at > newest ? at : newest), ''))
  return (
    <div className={list.data} onClick={onRowLink(open)}>
      <div className={css.tools}>
        {tools}
        <ListTools name={name} columns={columns} seen={seen} rows={lines} choice={choice} choose={choose} file={file} />
      </div>
      <table
        className={css.frame}
        style={sizesOf({ top, allPx, rowHeight, drawn: items.length }, seen)}
        role="table"
        aria-label={label}
        aria-rowcount={long === undefined || long.ended ? lines.length + 1 : -1}
        aria-busy={old}
        data-dense={choice.dense}
        data-long={long !== undefined}
      >
        <thead role="rowgroup">
          <tr className={css.head} role="row" aria-rowindex={1}>
            {seen.map(({ id, title, className }) => (
              <th key={id} role="columnheader" className={className}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody
          ref={frame}
          role="rowgroup"
          aria-label={label}
          className={css.scroll}
          {...(long === undefined ? {} : { tabIndex: 0 })}
        >
          {items.map((index) => {
            const line = lines[index]
            return line === undefined ? null : (
              <Row
                key={line.id}
                line={line}
                index={index + 2}
                columns={seen}
                look={clsx(css.row, line.id === opened && css.opened, line.at > known && css.fresh)}
              />
            )
          })}
          {long?.foot}
        </tbody>
      </table>
    </div>
  )
}

function useRowsInSight(count: number, dense: boolean, isLong: boolean) {
  const isNarrow = useMediaQuery('(max-width: 700px)') === true
  const rowHeight = isNarrow ? PHONE_ROW_PX : dense ? DENSE_ROW_PX : ROW_PX
  const frame = useRef<HTMLTableSectionElement>(null)
  const virtual = useVirtualizer({
    count,
    enabled: isLong,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: SPARE_ROWS,
    initialRect: { width: 0, height: ROW_PX * SPARE_ROWS },
  })
  const { measure } = virtual
  useEffect(measure, [measure, rowHeight])
  if (!isLong)
    return { frame, items: Array.from({ length: count }, (_row, index) => index), top: 0, last: 0, allPx: 0, rowHeight }
  const items = virtual.getVirtualItems()
  const [top, last] = [items[0]?.start ?? 0, (items.at(-1)?.index ?? -1) + 1]
  return { frame, items: items.map(({ index }) => index), top, last, allPx: virtual.getTotalSize(), rowHeight }
}

interface Sizes {
  readonly top: number
  readonly allPx: number
  readonly rowHeight: number
  readonly drawn: number
}

function sizesOf({ top, allPx, rowHeight, drawn }: Sizes, columns: readonly LogColumn[]): CSSProperties {
  // The type CSSProperties does not have custom properties.
  return {
    '--top': `${top}px`,
    '--rest': `${Math.max(0, allPx - top - drawn * rowHeight)}px`,
    '--row': `${rowHeight}px`,
    '--columns': columns.map(({ width }) => width).join(' '),
  } as CSSProperties
}

interface RowProps {
  readonly line: Line
  readonly index: number
  readonly columns: readonly LogColumn[]
  readonly look: string
}

/** A row has no hooks and few components, because each change of a filter draws about thirty rows. */
const Row = memo(function Row({ line, index, columns, look }: RowProps) {
  return (
    <tr className={look} role="row" aria-rowindex={index}>
      {columns.map(({ id, className, cell, hint }) => (
        <td key={id} role="cell" className={className} title={hint?.(line)}>
          {cell(line)}
        </td>
      ))}
    </tr>
  )
})

interface LogColumn extends Column<Line> {
  readonly cell: (line: Line) => ReactNode
  /** The width of the grid. */
  readonly width: string
}

/** The columns of both sides; the operator also sees what requests cost. */
// oxlint-disable-next-line eslint/max-lines-per-function -- the columns of a list
function columnsOf(isOperator: boolean, who: string, addressOf: (id: string) => string): readonly LogColumn[] {
  const number = { width: '80px', className: css.number }
  return [
    {
      id: 'time',
      title: t('log.time'),
      width: '112px',
      className: css.time,
      cell: (line) => (
        <a
          href={addressOf(line.id)}
          {...rowLink(line.id)}
          className={css.open}
          aria-label={`${format.dateTime(line.at)}, ${line.model}`}
          title={format.dateTime(line.at)}
        >
          <time dateTime={line.at}>{format.moment(line.at)}</time>
        </a>
      ),
    },
    {
      id: 'model',
      title: t('log.model'),
      width: 'minmax(120px, 1.2fr)',
      className: css.model,
      hint: ({ model }) => model,
      cell: ({ model, provider }) => <Pair name={model} more={provider} />,
    },
    {
      id: 'who',
      title: who,
      width: 'minmax(100px, 1fr)',
      className: css.who,
      hint: ({ who: name, by }) => [name, by].filter((part) => part !== null).join(' · '),
      cell: ({ who: name, by }) => <Pair name={name} more={by} />,
    },
    { id: 'status', title: t('log.status'), width: 'minmax(124px, 0.8fr)', className: css.status, cell: endOf },
    {
      id: 'tokens',
      title: t('log.tokens'),
      ...number,
      className: css.tokens,
      width: '104px',
      cell: ({ input, output }) => `${format.number(input)} → ${format.number(output)}`,
    },
    { id: 'input', title: t('usage.input_tokens'), ...number, cell: ({ input }) => format.number(input) },
    { id: 'output', title: t('usage.output_tokens'), ...number, cell: ({ output }) => format.number(output) },
    {
      id: 'duration',
      title: t('log.duration'),
      width: '104px',
      className: css.duration,
      cell: ({ ms }) => format.duration(ms),
    },
    ...(isOperator
      ? [
          {
            id: 'provider_cost',
            title: t('margin.provider_cost'),
            ...number,
            width: '92px',
            cell: ({ providerCost = 0 }: Line) => <Money of={providerCost} />,
          },
        ]
      : []),
    {
      id: 'cost',
      title: isOperator ? t('margin.revenue') : t('log.cost'),
      width: '92px',
      className: css.cost,
      hint: ({ shortfall = 0 }) =>
        shortfall > 0 ? t('requests.shortfall', { amount: format.money(shortfall) }) : undefined,
      cell: ({ cost, shortfall = 0 }) => (
        <>
          <Money of={cost} />
          {shortfall > 0 && <span className={css.mark}>−</span>}
        </>
      ),
    },
    { id: 'id', title: t('log.filter_id'), width: 'minmax(120px, 1fr)', className: css.id, cell: ({ id }) => id },
  ]
}

function Pair({ name, more }: { readonly name: string; readonly more: string | null }) {
  return (
    <>
      {name} {more !== null && <span className={css.by}>{more}</span>}
    </>
  )
}

function endOf({ status, error, flagged = false }: Line) {
  return (
    <>
      {status === 'completed' ? (
        <span className={css.by}>{t('status.completed')}</span>
      ) : (
        requestEnd({ status, error_type: error })
      )}
      {flagged && (
        <span className={css.mark} title={t('requests.flagged')}>
          !<span className="unseen">{t('requests.flagged')}</span>
        </span>
      )}
    </>
  )
}
