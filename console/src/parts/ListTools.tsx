import { Button } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import clsx from 'clsx'
import { BYTE_ORDER_MARK, CSV_TYPE, type CsvFormat, csvLine } from '../../../src/base/csv.ts'
import { ownValue } from '../../../src/base/own-value.ts'
import { address, type AnyInput, type Input, type ReadEndpoint } from '../api/endpoint.ts'
import { currentLanguage } from '../i18n.ts'
import css from '../style/list.module.css'
import { useFirstUse } from './first-use.ts'
import { ColumnsIcon, DownloadIcon } from './icons.ts'
import { type Column, type ListOrder, valueOf } from './List.tsx'
import { onDemand } from './OnDemand.tsx'
import { t } from './words.ts'
import { today } from './zoned-day.ts'
import { Press } from './cells.tsx'

export interface ListToolsProps<Row> {
  readonly name: string
  /** All columns, hidden ones included. */
  readonly columns: readonly Column<Row>[]
  readonly seen: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly choice: ListChoice
  readonly choose: (change: Partial<ListChoice>) => void
  /** Absent = the list has one order. */
  readonly order?: ListOrder
  /** The address of the server's file; absent = all rows are here. */
  readonly file?: string | undefined
}

/** What a reader chooses of a list. */
export type ListViewProps = Pick<ListToolsProps<never>, 'columns' | 'choice' | 'choose' | 'order'>

/** The tools above a list: its file, its order, its columns and the height of its rows. */
export function ListTools<Row>(props: ListToolsProps<Row>) {
  return (
    <div className={clsx(css.tools, 'off-paper')}>
      <CsvButton {...props} file={props.file} />
      <ListView {...props} />
    </div>
  )
}

/**
 * A button for a file of the filtered rows: the server's file, or one of the rows that are here with the columns that
 * are shown.
 */
function CsvButton<Row>({ name, seen, rows, file }: ListToolsProps<Row> & { readonly file: string | undefined }) {
  const look = {
    size: 'compact-sm',
    variant: 'subtle',
    color: 'gray',
    leftSection: <DownloadIcon size={15} />,
  } as const
  return file === undefined ? (
    <Button {...look} title={t('list.csv_here')} onClick={() => saveCsv(name, seen, rows)}>
      {t('list.csv')}
    </Button>
  ) : (
    <Button {...look} component="a" href={file} download title={t('list.csv_whole')}>
      {t('list.csv')}
    </Button>
  )
}

/** A user's settings of a list, stored in the browser. */
interface ListChoice {
  readonly hidden: readonly string[]
  readonly dense: boolean
}

type Choices = Readonly<Record<string, ListChoice>>

export function useListChoice(
  name: string,
  atFirst: ListChoice,
): readonly [ListChoice, (change: Partial<ListChoice>) => void] {
  const [choices, setChoices] = useLocalStorage<Choices>({
    key: 'tollgate-lists',
    defaultValue: {},
    getInitialValueInEffect: false,
    deserialize: parsed,
  })
  const choice = ownValue(choices, name) ?? atFirst
  return [choice, (change) => setChoices((before) => ({ ...before, [name]: { ...choice, ...change } }))]
}

/** The stored value may be anything, since another release or a person may have written it. */
function parsed(text: string | undefined): Choices {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    return value === null || typeof value !== 'object'
      ? {}
      : Object.fromEntries(Object.entries(value).filter((entry): entry is [string, ListChoice] => isChoice(entry[1])))
  } catch {
    return {}
  }
}

function isChoice(value: unknown): value is ListChoice {
  return (
    value !== null &&
    typeof value === 'object' &&
    'dense' in value &&
    typeof value.dense === 'boolean' &&
    'hidden' in value &&
    Array.isArray(value.hidden) &&
    value.hidden.every((id) => typeof id === 'string')
  )
}

/** The form of a file that the reader's spreadsheet splits into cells. */
export function csvFormat(): CsvFormat {
  return currentLanguage() === 'ru' ? 'csv_semicolon' : 'csv'
}

/** The address of the server's file of all rows that a list's query finds. */
export function fileAddress<E extends ReadEndpoint>(endpoint: E, input: Input<E>): string {
  // A field of AnyInput has this type in every Input<E>, or is absent there.
  const { params = {}, query = {} } = input as AnyInput
  return address(endpoint, { params, query: { ...query, format: csvFormat() } })
}

/** Saves the columns that have a value, in the order that is shown, for a list whose rows are all here. */
function saveCsv<Row>(name: string, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const written = columns.flatMap((column) => {
    const value = valueOf(column)
    return value === undefined ? [] : [{ title: column.title ?? '', value }]
  })
  const lines = rows.map((row) =>
    csvLine(
      written.map(({ value }) => value(row)),
      csvFormat(),
    ),
  )
  const text = [
    BYTE_ORDER_MARK,
    csvLine(
      written.map(({ title }) => title),
      csvFormat(),
    ),
    ...lines,
  ].join('')
  saveFile(`tollgate-${name}-${today()}.csv`, CSV_TYPE, text)
}

/** Lets the browser save a text as a file. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  URL.revokeObjectURL(url)
}

/** The look of the button before its first use and after it. */
export const VIEW_LOOK = {
  size: 'compact-sm',
  variant: 'subtle',
  color: 'gray',
  leftSection: <ColumnsIcon size={15} />,
} as const

const OpenedListView = onDemand('OpenedListView', () => import('./OpenedListView.tsx'))

/** A button that opens the order of a list, its columns and the height of its rows. */
function ListView(props: ListViewProps) {
  const { isUsed, button } = useFirstUse(OpenedListView)
  if (isUsed) return <OpenedListView {...props} />
  return <Press {...VIEW_LOOK} aria-haspopup="dialog" aria-expanded={false} {...button} text={t('list.view')} />
}
