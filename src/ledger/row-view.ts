import { rubles } from '../base/money.ts'
import { viewFields, type GenerationRow, type LogView, type RowView, type ViewField } from './generation-record.ts'
import { isoTime } from '../base/time.ts'

const FIELDS: Readonly<Record<LogView, readonly ViewField[]>> = {
  log: viewFields('log'),
  request: viewFields('request'),
  api: viewFields('api'),
  operator: viewFields('operator'),
}

/** A reader's view of a row of the usage log, with the names and order of the table. */
export function viewOf<V extends LogView>(row: GenerationRow, view: V): RowView<V> {
  const seen: Record<string, unknown> = {}
  for (const { field, name, as } of FIELDS[view]) seen[name] = written(row[field], as)
  // Each field of the type has been set.
  return seen as RowView<V>
}

function written(value: unknown, as: ViewField['as']): unknown {
  if (as === 'rubles' && typeof value === 'bigint') return rubles(value)
  if (as === 'time' && typeof value === 'number') return isoTime(value)
  return value ?? null
}
