import type { GenerationRecord } from '../ledger/generation-record.ts'

/** What of a record has no column of its own, in `generation.record`; null members are left out, which halves the row. */
type Details = {
  readonly [
    Name in
      | 'providerName'
      | 'endpointId'
      | 'upstreamId'
      | 'errorType'
      | 'finishReason'
      | 'nativeFinishReason'
      | 'latencyMs'
      | 'appUrl'
      | 'appTitle'
      | 'sessionId'
      | 'failedAttempts'
  ]?: GenerationRecord[Name] | undefined
} & Pick<
  GenerationRecord,
  | 'variant'
  | 'usage'
  | 'reportedUsage'
  | 'cachedTokens'
  | 'reasoningTokens'
  | 'billingBasis'
  | 'flagged'
  | 'streamed'
  | 'attempts'
  | 'durationMs'
>

export function logDetails(record: GenerationRecord): string {
  const details: Details = {
    providerName: record.providerName ?? undefined,
    endpointId: record.endpointId ?? undefined,
    upstreamId: record.upstreamId ?? undefined,
    errorType: record.errorType ?? undefined,
    finishReason: record.finishReason ?? undefined,
    nativeFinishReason: record.nativeFinishReason ?? undefined,
    ...(record.variant === undefined ? {} : { variant: record.variant }),
    usage: record.usage,
    ...(record.reportedUsage === undefined ? {} : { reportedUsage: record.reportedUsage }),
    cachedTokens: record.cachedTokens,
    reasoningTokens: record.reasoningTokens,
    billingBasis: record.billingBasis,
    flagged: record.flagged,
    streamed: record.streamed,
    attempts: record.attempts,
    failedAttempts: record.failedAttempts,
    latencyMs: record.latencyMs ?? undefined,
    durationMs: record.durationMs,
    appUrl: record.appUrl ?? undefined,
    appTitle: record.appTitle ?? undefined,
    sessionId: record.sessionId ?? undefined,
  }
  return JSON.stringify(details)
}

/** The whole of it again, its columns given. */
export function withDetails(columns: Omit<GenerationRecord, keyof Details>, text: string): GenerationRecord {
  // Written by `logDetails`.
  const details = JSON.parse(text) as Details
  return {
    ...columns,
    ...details,
    providerName: details.providerName ?? null,
    endpointId: details.endpointId ?? null,
    upstreamId: details.upstreamId ?? null,
    errorType: details.errorType ?? null,
    finishReason: details.finishReason ?? null,
    nativeFinishReason: details.nativeFinishReason ?? null,
    latencyMs: details.latencyMs ?? null,
    appUrl: details.appUrl ?? null,
    appTitle: details.appTitle ?? null,
    sessionId: details.sessionId ?? null,
  }
}
