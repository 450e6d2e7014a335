import type { Endpoint } from '../catalog/catalog.ts'
import type { ApiError } from '../errors.ts'
import {
  keptName,
  type BillingBasis,
  type EndReason,
  type FailedAttemptNote,
  type GenerationRecord,
  type GenerationStatus,
} from '../ledger/generation-record.ts'
import type { Candidate } from '../plan/plan.ts'
import type { UsageReport } from '../kinds/chat-answer.ts'
import { isSameUsage, providerCostMicro } from '../meters.ts'
import type { Micro } from '../money.ts'
import type { GenerationInput } from './generation-input.ts'

/** What became of a generation, decided before the ledger is told. */
export interface Verdict {
  readonly status: GenerationStatus
  readonly basis: BillingBasis
  /** What the customer is asked to pay for. */
  readonly report: UsageReport
  /** What the provider bills us for it; differs where it reported more than there can be. */
  readonly reported: UsageReport
  readonly flagged: boolean
  readonly error: ApiError | null
  readonly finish: EndReason | null
  readonly native: string | null
}

/** How the answer went upstream. */
export interface Passage {
  readonly candidate: Candidate
  readonly upstreamId: string | null
  readonly attempts: number
  readonly failedAttempts: readonly FailedAttemptNote[]
  /** clock.monotonic() of the first token; null when none came. */
  readonly firstTokenMs: number | null
  readonly endedMs: number
}

/**
 * The most that a provider may bill for an answer that was cut off, beyond what is booked as what came: nobody can
 * tell, for it may have thought unseen.
 */
export function restMicro(holdMicro: Micro, verdict: Verdict | null, { buy }: Endpoint): Micro {
  const restMicro = holdMicro - (verdict === null ? 0n : providerCostMicro(verdict.reported.usage, buy))
  return restMicro > 0n ? restMicro : 0n
}

/** The usage-log row of a generation. */
export function recordOf(input: GenerationInput, verdict: Verdict, passage: Passage): GenerationRecord {
  const { model, endpoint } = passage.candidate
  const { report, reported } = verdict
  return {
    generationId: input.generationId,
    accountId: input.accountId,
    keyId: input.keyId,
    requestId: input.requestId,
    type: input.order.type,
    model: model.id,
    providerSlug: endpoint.provider.slug,
    providerName: endpoint.provider.name,
    endpointId: endpoint.id,
    upstreamId: keptName(passage.upstreamId),
    status: verdict.status,
    errorType: verdict.error?.errorType ?? null,
    finishReason: verdict.finish,
    nativeFinishReason: keptName(verdict.native),
    usage: report.usage,
    ...(isSameUsage(report.usage, reported.usage) ? {} : { reportedUsage: reported.usage }),
    inputTokens: report.inputTokens,
    outputTokens: report.outputTokens,
    cachedTokens: report.cachedTokens,
    reasoningTokens: report.reasoningTokens,
    billingBasis: verdict.basis,
    flagged: verdict.flagged,
    priceVersion: input.plan.snapshot.priceVersion,
    ...(endpoint.variant === undefined ? {} : { variant: endpoint.variant }),
    streamed: input.order.delivery === 'events',
    attempts: passage.attempts,
    ...(passage.failedAttempts.length === 0 ? {} : { failedAttempts: passage.failedAttempts }),
    latencyMs: passage.firstTokenMs === null ? null : Math.round(passage.firstTokenMs - input.startedMs),
    durationMs: Math.round(passage.endedMs - input.startedMs),
    createdAtMs: input.arrivedAtMs,
    appUrl: input.appUrl,
    appTitle: input.appTitle,
    sessionId: input.order.sessionId,
  }
}
