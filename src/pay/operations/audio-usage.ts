import type { Endpoint, Model } from '../../catalog/catalog.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { METER_TABLE } from '../../tables/meter-table.ts'
import { INPUT_METERS, OUTPUT_METERS, sumOf, type Usage } from '../../tables/meters.ts'
import { contextOf } from '../plan/context-check.ts'
import { ceilMicro, parseDecimal, shift } from '../../base/money.ts'

const TOKEN_METERS = [...INPUT_METERS, ...OUTPUT_METERS].filter((meter) =>
  METER_TABLE[meter].types.some((type) => type === 'tts' || type === 'transcription'),
)

/**
 * Whether tokens have a price at an endpoint, for the client or for us; else it is sold by time or characters, and the
 * log shows no tokens.
 */
export function countsTokens({ sell, buy }: Endpoint): boolean {
  return TOKEN_METERS.some((meter) => sell[meter].digits > 0n || buy[meter].digits > 0n)
}

/** The most output tokens of an answer. */
export function outputMax(model: Model, endpoint: Endpoint): number {
  return endpoint.maxCompletionTokens ?? model.maxCompletionTokens ?? 0
}

/** The most tokens of an answer: its own bound, else the model's whole context. */
export function answerMax(model: Model, endpoint: Endpoint): number {
  return endpoint.maxCompletionTokens ?? model.maxCompletionTokens ?? contextOf(model, endpoint)
}

/** Seconds rounded up once to tenths (wire.md D-5.2), exactly: 1.1 × 10 is more than 11 in floating point. */
export function decisecondsOf(seconds: number): number {
  const decimal = parseDecimal(String(seconds))
  return decimal === null || decimal.digits <= 0n ? 0 : Number(ceilMicro(shift(decimal, 1)))
}

/** Usage in units, with tokens where they have a price. */
export function withUnits(units: Usage, tokens: UsageReport | null): UsageReport {
  const none = {
    inputTokens: 0,
    outputTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    implausible: false,
  }
  return { ...(tokens ?? none), usage: { ...tokens?.usage, ...units } }
}

/** Tokens we counted ourselves. */
export function countedTokens(usage: Usage): UsageReport {
  return {
    usage,
    inputTokens: sumOf(usage, INPUT_METERS),
    outputTokens: sumOf(usage, OUTPUT_METERS),
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    implausible: false,
  }
}
