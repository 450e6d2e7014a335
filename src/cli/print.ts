import type { Option } from './command.ts'
import { isObject } from '../kinds/fields/body-fields.ts'
import type { JsonObject } from '../base/json-text.ts'

export const JSON_OPTION: Option = { help: 'print the answer of the admin API as it is' }

/** A record as text for people, one line for each field. */
export function recordText(record: JsonObject): string {
  const names = Object.keys(record)
  const width = Math.max(0, ...names.map((name) => name.length))
  return names.map((name) => `${name.padEnd(width)}  ${valueText(record[name])}`).join('\n')
}

/** Records as a table for people, with the columns' names. */
export function tableText(records: readonly JsonObject[], names: readonly string[]): string {
  if (records.length === 0) return 'none'
  const rows = [names, ...records.map((record) => names.map((name) => valueText(record[name])))]
  const widths = names.map((_name, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The records in a list's answer. */
export function listed(answer: JsonObject): readonly JsonObject[] {
  const { data } = answer
  return Array.isArray(data) ? data.filter(isObject) : []
}

/** Control characters in a stored name could move the cursor of the operator's terminal. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return '-'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replaceAll(/\p{Cc}/gu, ' ')
}
