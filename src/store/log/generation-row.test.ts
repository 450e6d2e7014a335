import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOG_FIELDS, type GenerationRecord } from '../../ledger/generation-record.ts'
import type { LogRow } from '../../ledger/ledger-store.ts'
import type { Row } from '../database.ts'
import { LOG_COLUMNS, readGeneration } from './generation-row.ts'

const FULL: GenerationRecord = {
  generationId: 'gen-1',
  accountId: 'acc_1',
  keyId: 'key_1',
  requestId: 'req-1',
  type: 'chat',
  model: 'v/m',
  providerSlug: 'p',
  providerName: 'P',
  endpointId: 'e1',
  upstreamId: 'up-1',
  status: 'error',
  errorType: 'service_unavailable',
  finishReason: 'error',
  nativeFinishReason: 'oops',
  usage: { input: 3, output: 4 },
  reportedUsage: { input: 5 },
  inputTokens: 3,
  outputTokens: 4,
  cachedTokens: 1,
  reasoningTokens: 2,
  billingBasis: 'counted',
  flagged: true,
  priceVersion: 7,
  variant: '720p',
  streamed: true,
  attempts: 2,
  failedAttempts: [{ provider: 'q', reason: 'status', status: 500 }],
  latencyMs: 10,
  durationMs: 20,
  createdAtMs: 1_000,
  appUrl: 'https://app.test',
  appTitle: 'App',
  sessionId: 's1',
}
const { variant: _variant, reportedUsage: _reported, failedAttempts: _failed, ...PLAIN } = FULL
const LEAST: GenerationRecord = {
  ...PLAIN,
  providerSlug: null,
  providerName: null,
  endpointId: null,
  upstreamId: null,
  errorType: null,
  finishReason: null,
  nativeFinishReason: null,
  usage: {},
  flagged: false,
  streamed: false,
  latencyMs: null,
  appUrl: null,
  appTitle: null,
  sessionId: null,
}

function written(record: GenerationRecord): LogRow {
  return {
    record,
    seq: 9n,
    costMicro: 11n,
    providerCostMicro: 12n,
    shortfallMicro: 13n,
    insuredMicro: 14n,
    day: '1970-01-01',
    bookedDay: '',
    atMs: 1_020,
  }
}

function rowOf(log: LogRow): Row {
  const values = LOG_COLUMNS.values(log)
  return {
    ...Object.fromEntries(LOG_COLUMNS.names.map((name, place) => [name, values[place] ?? null])),
    id: 5n,
    key_name: 'k',
  }
}

test('a row of the log has the same text in each release: its seal is over it', () => {
  // A new field comes at the end of this text; what stands here never changes.
  const full = LOG_COLUMNS.values(written(FULL))
  assert.equal(full.slice(0, -1).join(' '), 'gen-1 acc_1 9 key_1 req-1 chat v/m p error 11 12 13 14 3 4 7 1000 1020')
  assert.equal(
    full.at(-1),
    '{"providerName":"P","endpointId":"e1","upstreamId":"up-1","errorType":"service_unavailable","finishReason":"error","nativeFinishReason":"oops","variant":"720p","usage":{"input":3,"output":4},"reportedUsage":{"input":5},"cachedTokens":1,"reasoningTokens":2,"billingBasis":"counted","flagged":true,"streamed":true,"attempts":2,"failedAttempts":[{"provider":"q","reason":"status","status":500}],"latencyMs":10,"durationMs":20,"appUrl":"https://app.test","appTitle":"App","sessionId":"s1"}',
  )
  assert.equal(
    LOG_COLUMNS.values(written(LEAST)).at(-1),
    '{"usage":{},"cachedTokens":1,"reasoningTokens":2,"billingBasis":"counted","flagged":false,"streamed":false,"attempts":2,"durationMs":20}',
  )
})

test('no two fields of a view have one place', () => {
  interface Placed {
    readonly by: string
    readonly api?: { readonly place: number }
    readonly operator?: { readonly place: number }
    readonly shown?: { readonly in: string; readonly place: number }
  }
  const fields: readonly Placed[] = Object.values(LOG_FIELDS)
  const places = fields.flatMap(({ api, operator, shown }) => [
    ...(api === undefined ? [] : [`api ${api.place}`]),
    ...(operator === undefined ? [] : [`operator ${operator.place}`]),
    ...(shown === undefined ? [] : [`${shown.in} ${shown.place}`]),
  ])
  assert.deepEqual(places.toSorted(), [...new Set(places)].toSorted())
})

test('every field of the log is read back as it was written', () => {
  for (const record of [FULL, LEAST])
    assert.deepEqual(readGeneration(rowOf(written(record))), {
      ...record,
      id: 5,
      costMicro: 11n,
      providerCostMicro: 12n,
      shortfallMicro: 13n,
      insuredMicro: 14n,
      keyName: 'k',
      endedAtMs: 1_020,
    })
})
