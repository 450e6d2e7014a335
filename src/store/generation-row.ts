import type { GenerationRecord } from '../ledger/generation-record.ts'
import { big, integer, text, textOrNull, type Row } from './database.ts'
import { withDetails } from './log-details.ts'
import type { GenerationRow } from './store.ts'

const COLUMNS = [
  'id',
  'generation_id',
  'account_id',
  'key_id',
  'request_id',
  'type',
  'model',
  'provider',
  'status',
  'cost',
  'provider_cost',
  'shortfall',
  'insured',
  'input_tokens',
  'output_tokens',
  'price_version',
  'created_at',
  'ended_at',
  'record',
]
export const GENERATION_SELECT = `SELECT ${COLUMNS.map((name) => `generation.${name} AS ${name}`).join(', ')}, api_key.name AS key_name
  FROM generation LEFT JOIN api_key ON api_key.id = generation.key_id`

export function readGeneration(row: Row): GenerationRow {
  const record = withDetails(
    {
      generationId: text(row, 'generation_id'),
      accountId: text(row, 'account_id'),
      keyId: text(row, 'key_id'),
      requestId: text(row, 'request_id'),
      // Both columns are written from the same types by this folder alone.
      type: text(row, 'type') as GenerationRecord['type'],
      status: text(row, 'status') as GenerationRecord['status'],
      model: text(row, 'model'),
      providerSlug: textOrNull(row, 'provider'),
      inputTokens: integer(row, 'input_tokens'),
      outputTokens: integer(row, 'output_tokens'),
      priceVersion: integer(row, 'price_version'),
      createdAtMs: integer(row, 'created_at'),
    },
    text(row, 'record'),
  )
  return {
    ...record,
    id: integer(row, 'id'),
    costMicro: big(row, 'cost'),
    providerCostMicro: big(row, 'provider_cost'),
    shortfallMicro: big(row, 'shortfall'),
    insuredMicro: big(row, 'insured'),
    keyName: textOrNull(row, 'key_name') ?? '',
    endedAtMs: integer(row, 'ended_at'),
  }
}
