import type { Prices } from '../../catalog/catalog.ts'
import { billMicro, rowPrices, type ConditionedRow, type Served } from '../../catalog/price-conditions.ts'
import { ApiError } from '../../base/errors.ts'
import {
  keptName,
  keptText,
  type BillingBasis,
  type EndReason,
  type FailedAttemptNote,
  type GenerationRecord,
  type GenerationStatus,
} from '../../ledger/generation-record.ts'
import type { GuardedCharge, SettleRequest } from '../../ledger/ledger-store.ts'
import type { Candidate } from '../plan/plan.ts'
import type { ChargedUsage } from '../../kinds/answer/writer.ts'
import type { ChunkIdentity, UsageReport } from '../../kinds/chat/answer.ts'
import { cacheSavedMicro, chargeMicro, isSameUsage, providerCostMicro, type Usage } from '../../tables/meters.ts'
import type { Micro } from '../../base/money.ts'
import { countedReport } from '../plan/usage-bounds.ts'
import type { AttemptFailure } from '../../protocols/ports/attempt-failure.ts'
import type { GenerationInput, GenerationResult } from './generation-input.ts'
import type { Asked } from './generation-state.ts'
import type { AnswerBody, Attempt, ReportedUsage } from './operation.ts'

/** How a generation ends, decided before it is written to the ledger. */
export interface Outcome {
  readonly status: GenerationStatus
  readonly basis: BillingBasis
  /** The usage that the customer pays for. */
  readonly report: UsageReport
  /** The usage that the provider bills, which differs if it reported more than possible. */
  readonly reported: UsageReport
  readonly flagged: boolean
  readonly error: ApiError | null
  readonly finish: EndReason | null
  readonly native: string | null
}

/** The two ways in which a generation ends. */
export type Ending =
  /** With a charge; `show` sends the end of the answer, or makes the body of a plain one. */
  | {
      readonly as: 'charged'
      readonly outcome: Outcome
      readonly show: (usage: ChargedUsage) => AnswerBody | undefined | void
    }
  /**
   * Without a charge. Costs that the provider still bills are booked as insured. `guarded`, a part of them, is charged
   * at the provider's price if the account has used up its free hour (guarantees.md rule 20).
   */
  | { readonly as: 'free'; readonly error: ApiError | null; readonly guarded?: ReportedUsage | null }

/** The part of a log row that describes the provider's side. */
export interface UpstreamSummary {
  readonly candidate: Candidate
  readonly upstreamId: string | null
  readonly serviceTier: string | null
  /** Parts of the request that were left out or changed. */
  readonly dropped: readonly string[]
  readonly attempts: number
  readonly failedAttempts: readonly FailedAttemptNote[]
  /** clock.monotonic() of the first token; null when none came. */
  readonly firstTokenMs: number | null
  readonly endedMs: number
}

/** The most characters of the header: some proxies accept no longer ones. */
const DROPPED_MAX = 40
const DROPPED_CHARS_MAX = 64

/** Names of parts of a request, for a header and for the log. Clients choose some of them. */
export function droppedNames(dropped: readonly string[]): string {
  const names = [...new Set(dropped)].map((name) => name.replaceAll(/[^\w.[\]$-]/g, '_').slice(0, DROPPED_CHARS_MAX))
  return names.slice(0, DROPPED_MAX).join(', ')
}

/** What a request has cost us so far. */
export class Losses {
  #insuredMicro: Micro = 0n
  #blamelessMicro: Micro = 0n

  /** `isBlameless`: the client did not cause it (guarantees.md rule 20). */
  add(lostMicro: Micro, isBlameless = false): void {
    this.#insuredMicro += lostMicro
    if (isBlameless) this.#blamelessMicro += lostMicro
  }

  get booked(): { readonly insuredMicro: Micro; readonly blamelessMicro: Micro } {
    return { insuredMicro: this.#insuredMicro, blamelessMicro: this.#blamelessMicro }
  }
}

export const NOTHING_USED = countedReport(0, 0)

/**
 * The outcome of an answer that broke off, or for which nobody waits: if it is charged, the charge is for the part that
 * arrived.
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

/** The facts that every chunk of the answer repeats; `candidate`: null = no provider has answered. */
export function identityOf(
  { generationId, arrivedAtMs, plan }: GenerationInput,
  candidate: Candidate | null,
): ChunkIdentity {
  return {
    id: generationId,
    created: Math.floor(arrivedAtMs / 1_000),
    model: (candidate ?? plan.candidates[0])?.model.id ?? '',
    provider: candidate?.endpoint.provider.name ?? '',
  }
}

/** What a request was charged for, by its log row; null = it was free. */
export function chargedUsage({
  record,
  chargedMicro,
}: Pick<GenerationResult, 'record' | 'chargedMicro'>): ChargedUsage | null {
  const { cache_write: written = 0, cache_write_1h: writtenLong = 0 } = record.usage
  const report = { ...record, cacheWriteTokens: written + writtenLong, implausible: false }
  return chargedMicro === 0n ? null : { report, chargedMicro }
}

/** The facts besides the usage that decide the condition of a price. */
export function servedOf({ arrivedAtMs }: GenerationInput, asked: Asked | null): Served {
  return { atMs: arrivedAtMs, serviceTier: asked?.attempt.serviceTier ?? null }
}

/**
 * The most that a provider may bill for a cut answer beyond the part that arrived and is booked, such as reasoning that
 * was never sent.
 */
export function restMicro(input: GenerationInput, asked: Asked | null, outcome: Outcome | null, prices: Prices): Micro {
  const billed = outcome === null ? 0n : billMicro(prices, outcome.reported.usage, servedOf(input, asked))
  const restMicro = input.plan.holdMicro - billed
  return restMicro > 0n ? restMicro : 0n
}

/**
 * The cost of a failed attempt (guarantees.md 5): as reported, else the most that the provider may bill after it began
 * to answer. An error instead of an answer is not billed beyond its report. null = it had not begun to answer.
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

/** The charge of a guarded end, at the provider's price; null = it is 0. */
export function guardedCharge(
  { claim }: GenerationInput,
  guarded: ReportedUsage | null,
  prices: Prices,
  recordWith: (used: ReportedUsage & Pick<Outcome, 'basis'>) => GenerationRecord,
): GuardedCharge | null {
  if (guarded === null) return null
  const record = recordWith({ ...guarded, basis: 'provider_cost' })
  const { charged, billed } = rowPrices(prices, record)
  const costMicro = chargeMicro(record.usage, charged.sheet)
  const ended = claim === null ? {} : { claim: { id: claim.id, answer: () => null } }
  return costMicro === 0n
    ? null
    : {
        costMicro,
        providerCostMicro: providerCostMicro(record.reportedUsage ?? record.usage, billed.sheet),
        record,
        ...ended,
      }
}

/** What the log row says about its prices. A free answer saves nothing, and has no condition. */
function pricedBy(
  prices: Prices,
  row: ConditionedRow,
  cachedTokens: number,
): Pick<GenerationRecord, 'cacheSaved' | 'condition' | 'billedCondition'> {
  if (row.billingBasis === 'free') return {}
  const { charged, billed } = rowPrices(prices, row)
  const saved = cachedTokens === 0 ? 0 : Number(cacheSavedMicro(row.usage, charged.sheet))
  return {
    ...(saved === 0 ? {} : { cacheSaved: saved }),
    ...(charged.name === null ? {} : { condition: charged.name }),
    ...(billed.name === null || billed.name === charged.name ? {} : { billedCondition: billed.name }),
  }
}

/** The usage-log row of a generation. */
export function recordOf(input: GenerationInput, outcome: Outcome, upstream: UpstreamSummary): GenerationRecord {
  const { model, endpoint } = upstream.candidate
  const { report, reported } = outcome
  const conditioned: ConditionedRow = {
    usage: report.usage,
    ...(isSameUsage(report.usage, reported.usage) ? {} : { reportedUsage: reported.usage }),
    billingBasis: outcome.basis,
    createdAtMs: input.arrivedAtMs,
    ...(upstream.serviceTier === null ? {} : { serviceTier: keptText(upstream.serviceTier) }),
  }
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
    ...conditioned,
    inputTokens: report.inputTokens,
    outputTokens: report.outputTokens,
    cachedTokens: report.cachedTokens,
    reasoningTokens: report.reasoningTokens,
    ...pricedBy(endpoint, conditioned, report.cachedTokens),
    flagged: outcome.flagged,
    priceVersion: input.plan.snapshot.priceVersion,
    ...(input.plan.snapshot.markup === undefined ? {} : { markup: input.plan.snapshot.markup }),
    ...(endpoint.variant === undefined ? {} : { variant: endpoint.variant }),
    streamed: input.operation.delivery === 'events',
    attempts: upstream.attempts,
    ...(upstream.failedAttempts.length === 0 ? {} : { failedAttempts: upstream.failedAttempts }),
    latencyMs: upstream.firstTokenMs === null ? null : Math.round(upstream.firstTokenMs - input.startedMs),
    durationMs: Math.round(upstream.endedMs - input.startedMs),
    appUrl: input.appUrl,
    appTitle: input.appTitle,
    sessionId: input.operation.sessionId,
    ...(input.endUser === null ? {} : { endUser: input.endUser }),
    ...(upstream.dropped.length === 0 ? {} : { dropped: keptText(droppedNames(upstream.dropped)) }),
  }
}

/** Whether nobody will get the answer. An answer in the background still has a reader unless its owner gave it up. */
export function isUnheard({ keeper }: GenerationInput, isGone: boolean, isCancelled: boolean): boolean {
  return isGone && (isCancelled || keeper?.background !== true)
}

/** Whether nobody could ever get the answer: its client asks for it later, and it is too large to keep. */
export function isUnkeepable({ keeper, operation }: GenerationInput, attempt: Attempt, { report }: Outcome): boolean {
  if (keeper?.background !== true || operation.delivery !== 'whole') return false
  const answer = attempt.kept?.({ report, chargedMicro: 0n }, 'ended') ?? null
  return answer !== null && !keeper.fits(answer)
}

export function unkeepable(): ApiError {
  return new ApiError('provider_error', 'The answer is too large to be kept for a later request')
}

/** The answer with its charge, as it is kept; if it broke off, only the part that came. */
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
