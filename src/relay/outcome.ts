import type { Endpoint } from '../catalog/catalog.ts'
import type { ApiError } from '../base/errors.ts'
import {
  keptName,
  type BillingBasis,
  type EndReason,
  type FailedAttemptNote,
  type GenerationRecord,
  type GenerationStatus,
} from '../ledger/generation-record.ts'
import type { SettleRequest } from '../ledger/ledger-store.ts'
import type { Candidate } from '../plan/plan.ts'
import type { UsageReport } from '../kinds/chat/answer.ts'
import { cacheSavedMicro, isSameUsage, providerCostMicro, type Usage } from '../tables/meters.ts'
import type { Micro } from '../base/money.ts'
import { countedReport } from '../pay/plan/usage-bounds.ts'
import type { AttemptFailure } from '../providers/ports/attempt-failure.ts'
import type { GenerationInput } from '../pay/relay/generation-input.ts'
import type { Asked } from '../pay/relay/generation-state.ts'
import type { Attempt, ReportedUsage } from '../pay/relay/operation.ts'

/** How a generation ends, decided before it is written to the ledger. */
export interface Outcome {
  readonly status: GenerationStatus
  readonly basis: BillingBasis
  /** The usage that the customer pays for. */
  readonly report: UsageReport
  /** The usage that the provider bills; differs where it reported more than possible. */
  readonly reported: UsageReport
  readonly flagged: boolean
  readonly error: ApiError | null
  readonly finish: EndReason | null
  readonly native: string | null
}

/** The part of a log row that describes the provider's side. */
export interface UpstreamSummary {
  readonly candidate: Candidate
  readonly upstreamId: string | null
  readonly attempts: number
  readonly failedAttempts: readonly FailedAttemptNote[]
  /** clock.monotonic() of the first token; null when none came. */
  readonly firstTokenMs: number | null
  readonly endedMs: number
}

export const NOTHING_USED = countedReport(0, 0)

/**
 * The outcome of an answer that broke off, or that nobody waits for: if it is charged, then for the part that arrived.
 */
export function countedOutcome(attempt: Attempt, status: GenerationStatus): Outcome {
  return { status, ...attempt.delivered(), basis: 'counted', error: null, finish: null, native: null }
}

/** Nothing is charged. `delivered` is the part that the client had received. */
export function freeOutcome(error: ApiError | null, delivered: ReportedUsage | null): Outcome {
  return {
    status: error === null ? 'cancelled' : 'error',
    ...(delivered ?? { report: NOTHING_USED, reported: NOTHING_USED, flagged: false }),
    basis: 'free',
    error,
    finish: error === null ? null : 'error',
    native: null,
  }
}

/**
 * The most that a provider may bill for a cut answer beyond the part that arrived and is booked, such as reasoning that
 * was never sent.
 */
export function restMicro(holdMicro: Micro, outcome: Outcome | null, { buy }: Endpoint): Micro {
  const restMicro = holdMicro - (outcome === null ? 0n : providerCostMicro(outcome.reported.usage, buy))
  return restMicro > 0n ? restMicro : 0n
}

/**
 * The cost of a failed attempt (guarantees.md 5): as reported, else the most that the provider may bill once it had
 * answered. An error instead of an answer means that there is no more. null = it had not answered.
 */
export function lostUsage({ attempt, heard }: Asked, failure: AttemptFailure | 'empty' | null): Usage | null {
  const reported = attempt.reported()
  if (reported !== null) return reported.reported.usage
  if (heard === 'nothing') return null
  const isError = failure !== null && failure !== 'empty' && failure.reason === 'error_event'
  return isError ? attempt.delivered().reported.usage : attempt.lost()
}

/** The provider's usage for an answer without content; null for any other. */
export function emptyUsage(asked: Asked | null, failure: AttemptFailure | 'empty'): ReportedUsage | null {
  if (asked === null || failure !== 'empty') return null
  return asked.attempt.reported() ?? asked.attempt.delivered()
}

/** At the prices that the answer is charged by, so that nothing is saved on a free one. */
function savedByCache({ report, basis }: Outcome, { sell, buy }: Endpoint): Pick<GenerationRecord, 'cacheSaved'> {
  if (report.cachedTokens === 0 || basis === 'free') return {}
  const saved = Number(cacheSavedMicro(report.usage, basis === 'provider_cost' ? buy : sell))
  return saved === 0 ? {} : { cacheSaved: saved }
}

/** The usage-log row of a generation. */
export function recordOf(input: GenerationInput, outcome: Outcome, upstream: UpstreamSummary): GenerationRecord {
  const { model, endpoint } = upstream.candidate
  const { report, reported } = outcome
  return {
    generationId: input.generationId,
    accountId: input.principal.accountId,
    keyId: input.principal.keyId,
    requestId: input.requestId,
    type: input.operation.type,
    model: model.id,
    providerSlug: endpoint.provider.slug,
    providerName: endpoint.provider.name,
    endpointId: endpoint.id,
    upstreamId: keptName(upstream.upstreamId),
    status: outcome.status,
    errorType: outcome.error?.errorType ?? null,
    finishReason: outcome.finish,
    nativeFinishReason: keptName(outcome.native),
    usage: report.usage,
    ...(isSameUsage(report.usage, reported.usage) ? {} : { reportedUsage: reported.usage }),
    inputTokens: report.inputTokens,
    outputTokens: report.outputTokens,
    cachedTokens: report.cachedTokens,
    reasoningTokens: report.reasoningTokens,
    ...savedByCache(outcome, endpoint),
    billingBasis: outcome.basis,
    flagged: outcome.flagged,
    priceVersion: input.plan.snapshot.priceVersion,
    ...(input.plan.snapshot.markup === undefined ? {} : { markup: input.plan.snapshot.markup }),
    ...(endpoint.variant === undefined ? {} : { variant: endpoint.variant }),
    streamed: input.operation.delivery === 'events',
    attempts: upstream.attempts,
    ...(upstream.failedAttempts.length === 0 ? {} : { failedAttempts: upstream.failedAttempts }),
    latencyMs: upstream.firstTokenMs === null ? null : Math.round(upstream.firstTokenMs - input.startedMs),
    durationMs: Math.round(upstream.endedMs - input.startedMs),
    createdAtMs: input.arrivedAtMs,
    appUrl: input.appUrl,
    appTitle: input.appTitle,
    sessionId: input.operation.sessionId,
  }
}

/** Nobody is to have the answer: one in the background is only given up by its owner. */
export function isUnheard({ keeper }: GenerationInput, isGone: boolean, isCancelled: boolean): boolean {
  return isGone && (isCancelled || keeper?.background !== true)
}

/** The answer as it is kept with its charge; of one that broke off only what came. */
export function keptAnswer(
  { keeper, generationId }: GenerationInput,
  asked: Asked | null,
  { report, status, finish }: Outcome,
  isCancelled: boolean,
): Pick<SettleRequest, 'kept'> {
  if (keeper === null || asked?.attempt.kept === undefined) return {}
  const broke = finish === null && status === 'cancelled' ? 'cancelled' : 'ended'
  const how = isCancelled ? 'cancelled' : status === 'error' ? 'failed' : broke
  return {
    kept: {
      answer: (chargedMicro) => {
        const answer = asked.attempt.kept?.({ report, chargedMicro }, how) ?? null
        return answer === null ? null : keeper.encrypt(generationId, answer)
      },
    },
  }
}
