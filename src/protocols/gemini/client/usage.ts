import { rubles } from '../../../base/money.ts'
import { toldTier } from '../../../tables/service-tier-table.ts'
import type { ChargedUsage } from '../../../kinds/answer/writer.ts'

/** The charge, beside the counts. */
export function costOf({ chargedMicro }: ChargedUsage): Readonly<Record<string, unknown>> {
  return { cost: rubles(chargedMicro), currency: 'RUB' }
}

/** `usageMetadata`: prompt tokens include cached ones, candidate tokens exclude thoughts. */
export function usageMetadata(
  usage: ChargedUsage,
  serviceTier: string | null = null,
): Readonly<Record<string, unknown>> {
  const { inputTokens, outputTokens, cachedTokens, reasoningTokens } = usage.report
  const thoughts = Math.min(outputTokens, reasoningTokens)
  return {
    promptTokenCount: inputTokens,
    ...(cachedTokens === 0 ? {} : { cachedContentTokenCount: cachedTokens }),
    candidatesTokenCount: outputTokens - thoughts,
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    totalTokenCount: inputTokens + outputTokens,
    ...(serviceTier === null ? {} : { trafficType: toldTier('gemini', serviceTier) }),
    ...costOf(usage),
  }
}
