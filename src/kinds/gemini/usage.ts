import { rubles } from '../../money.ts'
import type { ChargedUsage } from '../answer/writer.ts'

/** What was charged, beside the counts. */
export function costOf({ chargedMicro }: ChargedUsage): Readonly<Record<string, unknown>> {
  return { cost: rubles(chargedMicro), currency: 'RUB' }
}

/** `usageMetadata`: cached tokens are among those of the prompt, thoughts are not among those of the candidates. */
export function usageMetadata(usage: ChargedUsage): Readonly<Record<string, unknown>> {
  const { inputTokens, outputTokens, cachedTokens, reasoningTokens } = usage.report
  const thoughts = Math.min(outputTokens, reasoningTokens)
  return {
    promptTokenCount: inputTokens,
    ...(cachedTokens === 0 ? {} : { cachedContentTokenCount: cachedTokens }),
    candidatesTokenCount: outputTokens - thoughts,
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    totalTokenCount: inputTokens + outputTokens,
    ...costOf(usage),
  }
}
