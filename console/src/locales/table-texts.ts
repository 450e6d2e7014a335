import { ERRORS } from '../../../src/base/error-table.ts'
import type { ErrorType } from '../../../src/base/errors.ts'
import type { Label } from '../../../src/base/text.ts'
import { METER_TABLE, PRICED_METERS, type Meter, type PriceKey } from '../../../src/tables/meter-table.ts'
import { MODALITIES, REQUEST_TYPE_TABLE, type Modality, type RequestType } from '../../../src/tables/model-types.ts'
import { viewFields, type FactStyle } from '../../../src/ledger/generation-record.ts'
import type { Language } from '../../../src/api/cabinet/session-contract.ts'

const FACTS = [...viewFields('log'), ...viewFields('request')].flatMap(({ name, fact }) =>
  fact === undefined ? [] : [{ name, ...fact }],
)

/** A field of the log that the page of a request shows. */
export interface LogFact {
  readonly name: string
  readonly style: FactStyle
}

/** In the order of the page of a request. */
export const LOG_FACTS: readonly LogFact[] = FACTS.map(({ name, style }) => ({ name, style }))

/** The sections of texts that no first page needs: neither home nor the pages before sign-in. */
export const PAGE_SECTIONS = [
  'apps',
  'finish',
  'health',
  'ledger',
  'models',
  'notices',
  'people',
  'play',
  'request',
  'security',
  'statement',
] as const

/** Texts that are in the tables of the server, next to the names that they translate. */
export interface TableTexts {
  /** A line of a bill. */
  readonly meter: Readonly<Record<Meter, string>>
  readonly price: Readonly<Record<PriceKey, string>>
  /** A type of request, and the type of model with the same name. */
  readonly type: Readonly<Record<RequestType, string>>
  readonly modality: Readonly<Record<Modality, string>>
  readonly error: Readonly<Record<ErrorType, string>>
  /** A fact of a request, by its name in the log. */
  readonly fact: Readonly<Record<string, string>>
}

export function tableTexts(language: Language): TableTexts {
  // Each table has a row for every name of its type.
  const labelsOf = (rows: Readonly<Record<string, { readonly label: Label }>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(rows).map(([name, { label }]) => [name, label[language]]))
  return {
    meter: labelsOf(METER_TABLE),
    price: Object.fromEntries(PRICED_METERS.map(({ priceKey, priceLabel }) => [priceKey, priceLabel[language]])),
    type: labelsOf(REQUEST_TYPE_TABLE),
    modality: labelsOf(MODALITIES),
    error: Object.fromEntries(
      Object.entries(ERRORS).flatMap(([name, row]) => ('label' in row ? [[name, row.label[language]]] : [])),
    ),
    fact: Object.fromEntries(FACTS.map(({ name, label }) => [name, label[language]])),
  } as TableTexts
}
