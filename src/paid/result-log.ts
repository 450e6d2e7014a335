import type { Principal } from '../access/principal.ts'
import type { Call } from '../http/edge.ts'
import { rubles } from '../money.ts'
import { failuresText } from '../relay/attempt-error.ts'
import type { GenerationResult } from '../relay/generation-input.ts'
import { providerWords } from '../relay/provider-words.ts'

/** Writes the generation's facts into the request's log line and trace. */
export function logResult(call: Call<Principal>, result: GenerationResult): void {
  const { record } = result
  call.log.set({
    generation_id: record.generationId,
    model: record.model,
    provider: record.providerSlug,
    attempts: record.attempts,
    ...(result.failed.length === 0 ? {} : failureFields(result.failed, call.json)),
    input_tokens: record.inputTokens,
    output_tokens: record.outputTokens,
    cost: rubles(result.chargedMicro),
    billing_basis: record.billingBasis,
    finish_reason: record.finishReason,
    status_text: record.status,
    latency_ms: record.durationMs,
    first_token_ms: record.latencyMs,
    ...(result.error === null ? {} : { error_type: result.error.errorType }),
    ...(record.status === 'cancelled' ? { aborted: true } : {}),
  })
  call.log.attempts(
    result.spans.map(({ endpoint: { provider, upstreamModel: model }, startedMs, endedMs, failure }) => ({
      provider: provider.slug,
      model,
      address: provider.baseUrl,
      startedMs,
      endedMs: endedMs ?? startedMs,
      failure,
    })),
    {
      streamed: record.streamed,
      cacheReadTokens: record.cachedTokens,
      cacheWriteTokens: (record.usage.cache_write ?? 0) + (record.usage.cache_write_1h ?? 0),
      reasoningTokens: record.reasoningTokens,
    },
  )
}

function failureFields(
  failed: GenerationResult['failed'],
  sent: unknown,
): { readonly failed_attempts: string; readonly provider_said?: string } {
  const said = providerWords(failed, sent)
  return { failed_attempts: failuresText(failed), ...(said === '' ? {} : { provider_said: said }) }
}
