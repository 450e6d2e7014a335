import type { Endpoint } from '../../src/catalog/catalog.ts'
import type { PriceSheet, Usage } from '../../src/tables/meters.ts'
import { sheetMet } from './conditions.ts'
import type { TokenCounter } from '../../src/pay/plan/token-count.ts'
import type { AttemptFacts, RequestFacts } from './facts.ts'
import { isUnits } from './requests.ts'

/**
 * Who pays (guarantees.md 3.5), computed a second time, only from facts outside the gateway. `exact` = the price of the
 * answer in micro-rubles, and the provider's bill for it; `free`; `open` = both are right.
 */
export type Due =
  | { readonly kind: 'free' }
  | ({ readonly kind: 'exact' | 'free-or' } & Price)
  | { readonly kind: 'open' }

interface Price {
  readonly micro: bigint
  readonly billedMicro: bigint
  /** The reported usage is possible for such a request: its hold covers it. */
  readonly isOrdinary: boolean
}

export function dueOf(facts: RequestFacts, tokens: TokenCounter, guarded: boolean): Due {
  const last = facts.attempts.at(-1)
  if (last === undefined) return { kind: 'free' }
  switch (last.outcome) {
    case 'running':
      return { kind: 'open' }
    case 'ended':
      return isEmpty(facts, last)
        ? free(facts, last, reported(facts, last, tokens), guarded, tokens)
        : exact(facts, last, reported(facts, last, tokens), tokens)
    case 'failed':
      return failed(facts, last, tokens, guarded)
    case 'cancelled': {
      // A client that is still connected was cut off by us.
      if (last.clientPresent || !last.headers) return { kind: 'free' }
      const due = exact(facts, last, received(facts, last, tokens), tokens)
      return last.nodeClosing ? { ...due, kind: 'free-or' } : due
    }
  }
}

/** If the account has used up the free amount of an hour, the provider's price may be charged (rule 20). */
function free(facts: RequestFacts, attempt: AttemptFacts, usage: Usage, guarded: boolean, tokens: TokenCounter): Due {
  return guarded
    ? {
        kind: 'free-or',
        micro: attemptCost(facts, attempt, 'buy', bounded(facts, usage), tokens),
        billedMicro: attemptCost(facts, attempt, 'buy', usage, tokens),
        isOrdinary: false,
      }
    : { kind: 'free' }
}

function failed(facts: RequestFacts, last: AttemptFacts, tokens: TokenCounter, guarded: boolean): Due {
  if (!facts.request.stream || last.text === '') return { kind: 'free' }
  const delivered = facts.plan?.snapshot.settings.midstreamError === 'delivered'
  return last.clientPresent && !delivered
    ? free(facts, last, received(facts, last, tokens), guarded && mayBeCaused(last), tokens)
    : exact(facts, last, received(facts, last, tokens), tokens)
}

/** No tokens, no text, and no finish reason that makes it an answer. */
function isEmpty({ request }: RequestFacts, { text, parts, finishes }: AttemptFacts): boolean {
  if (isUnits(request)) return text === ''
  const [first] = [...finishes].toSorted(([left], [right]) => left - right)
  return text === '' && parts.every(({ usage }) => (usage?.usage.output ?? 0) === 0) && (first?.[1] ?? null) === null
}

/** The usage that the providers report, and our count of the rest: of several calls at least the reported part. */
function reported({ request }: RequestFacts, { endpoint, parts, text }: AttemptFacts, tokens: TokenCounter): Usage {
  const told = (meter: 'input' | 'output' | 'search', count: () => number): number => {
    const said = parts.flatMap(({ usage }) => (usage?.usage[meter] === undefined ? [] : [usage.usage[meter]]))
    const sum = said.reduce((total, units) => total + units, 0)
    return said.length === parts.length ? sum : Math.max(sum, count())
  }
  const input = told('input', () => request.count(tokens))
  if (request.type === 'embeddings') return { input }
  // A reranking of so few documents is one search.
  if (request.type === 'rerank')
    return {
      ...(isSoldBy(endpoint, 'input') ? { input } : {}),
      ...(isSoldBy(endpoint, 'search') ? { search: told('search', () => 1) } : {}),
    }
  return { input, output: told('output', () => countText(text, tokens)), request: request.inputs }
}

function countText(text: string, tokens: TokenCounter): number {
  return text === '' ? 0 : tokens.countText(text, 'o200k_base')
}

function isSoldBy({ sell, buy }: Endpoint, meter: 'input' | 'search'): boolean {
  return sell[meter].digits > 0n || buy[meter].digits > 0n
}

/**
 * Of a cut answer: the usage reported so far, and at least the received words. An answer that is not streamed counts
 * nothing until it is whole.
 */
function received(facts: RequestFacts, attempt: AttemptFacts, tokens: TokenCounter): Usage {
  if (isUnits(facts.request)) return {}
  const usage = reported(facts, attempt, tokens)
  return { ...usage, output: Math.max(usage.output ?? 0, countText(attempt.text, tokens)) }
}

/** The largest possible usage: for each prompt as many answers as are written, each of the largest length. */
function bounded({ request, plan }: RequestFacts, usage: Usage): Usage {
  const { inputMax, inputs, answers } = request
  const { input = 0, output = 0, search = 0 } = usage
  return {
    ...usage,
    input: Math.min(input, inputMax + 1_000),
    output: Math.min(output, (plan?.maxTokens ?? 0) * answers * inputs),
    search: Math.min(search, 1),
  }
}

function exact(
  facts: RequestFacts,
  attempt: AttemptFacts,
  usage: Usage,
  tokens: TokenCounter,
): Extract<Due, { kind: 'exact' | 'free-or' }> {
  const most = bounded(facts, usage)
  const { input = 0, output = 0, search = 0 } = usage
  const isOrdinary =
    input <= facts.request.count(tokens) && output <= (most.output ?? 0) && search <= (most.search ?? 0)
  return {
    kind: 'exact',
    micro: attemptCost(facts, attempt, 'sell', most, tokens),
    billedMicro: attemptCost(facts, attempt, 'buy', usage, tokens),
    isOrdinary,
  }
}

/** What a usage costs at the price that the attempt meets. */
function attemptCost(
  facts: RequestFacts,
  attempt: AttemptFacts,
  side: 'sell' | 'buy',
  usage: Usage,
  tokens: TokenCounter,
): bigint {
  const tier = servedTier(facts, attempt, tokens)
  return costOf(usage, sheetMet(attempt.endpoint, side, usage, facts.arrivedAtMs, tier))
}

/** Of several calls the tier that is the dearest for all that they read and wrote, for its customer first. */
function servedTier(facts: RequestFacts, attempt: AttemptFacts, tokens: TokenCounter): string | null {
  const [first = null, ...others] = new Set(attempt.parts.map(({ serviceTier }) => serviceTier))
  if (others.length === 0) return first
  const usage = bounded(facts, reported(facts, attempt, tokens))
  const total = (side: 'sell' | 'buy', tier: string | null): bigint =>
    exactCost(usage, sheetMet(attempt.endpoint, side, usage, facts.arrivedAtMs, tier))
  let dearest = first
  for (const tier of others) {
    const more = total('sell', tier) - total('sell', dearest)
    if (more > 0n || (more === 0n && total('buy', tier) > total('buy', dearest))) dearest = tier
  }
  return dearest
}

const UNIT = 10n ** 12n

/** Σ units × price, rounded up once, in separate arithmetic. */
export function costOf(usage: Usage, sheet: PriceSheet): bigint {
  const total = exactCost(usage, sheet)
  return total / UNIT + (total % UNIT === 0n ? 0n : 1n)
}

/** In parts of a micro-ruble. */
function exactCost(usage: Usage, sheet: PriceSheet): bigint {
  let total = 0n
  for (const meter of ['input', 'output', 'request', 'search'] as const) {
    const { digits, scale } = sheet[meter]
    total += (BigInt(usage[meter] ?? 0) * digits * UNIT) / 10n ** BigInt(scale)
  }
  return total
}

/** Whether a client may have brought it about that the operator pays for the attempt (rule 20). */
function mayBeCaused({ outcome, clientPresent, erred, slowed, gaveUp, text }: AttemptFacts): boolean {
  return outcome !== 'failed' || !clientPresent || erred || slowed || (gaveUp && text !== '')
}

/** Whether only providers, or a stopping node, are to blame for all that the operator paid. */
export function isBlameless({ attempts }: RequestFacts): boolean {
  return attempts.every((attempt) => !mayBeCaused(attempt))
}

/** Whether a client has certainly brought about all that the operator paid. */
export function isCaused({ attempts }: RequestFacts): boolean {
  return attempts.every(
    ({ outcome, clientPresent, nodeClosing }) => (outcome === 'ended' || !clientPresent) && !nodeClosing,
  )
}

/** The operator's cost of failed attempts and free answers, as far as it is known. */
export function insuredOf(facts: RequestFacts, due: Due, tokens: TokenCounter): bigint {
  let sum = 0n
  for (const [index, attempt] of facts.attempts.entries()) {
    const isLast = index === facts.attempts.length - 1
    sum +=
      isLast && due.kind === 'exact' ? restOf(facts, attempt, due.billedMicro) : insuredAttempt(facts, attempt, tokens)
  }
  return sum
}

/** For an answer charged by its received part: the rest of its largest possible cost. */
function restOf(facts: RequestFacts, attempt: AttemptFacts, billedMicro: bigint): bigint {
  const restMicro = (facts.plan?.holdMicro ?? 0n) - billedMicro
  // Answers that a stopping node cuts off are never charged.
  return isCutOff(facts, attempt) && restMicro > 0n ? restMicro : 0n
}

/** Its client left, and it was read on for the whole time because the provider bills it. */
function isCutOff(facts: RequestFacts, { endpoint, outcome, gaveUp, clientPresent }: AttemptFacts): boolean {
  const keepsBilling = !facts.request.stream || !endpoint.provider.cancelStopsBilling
  return keepsBilling && !clientPresent && (gaveUp || outcome === 'cancelled')
}

function insuredAttempt(facts: RequestFacts, attempt: AttemptFacts, tokens: TokenCounter): bigint {
  const buy = (usage: Usage): bigint => attemptCost(facts, attempt, 'buy', usage, tokens)
  const said = facts.request.stream && attempt.text !== ''
  // Once text was sent, the cost of a broken stream is its received part.
  if (said) return buy(received(facts, attempt, tokens))
  if (attempt.outcome === 'ended' || attempt.parts.some(({ usage }) => usage !== null))
    return buy(reported(facts, attempt, tokens))
  // An answer that is not streamed was made before its head was sent, unless it was an error.
  if (attempt.headers && isUnits(facts.request) && !attempt.erred) return buy(reported(facts, attempt, tokens))
  if (attempt.headers) return buy(received(facts, attempt, tokens))
  // It was read on and nothing came: its largest possible cost.
  return isCutOff(facts, attempt) && (attempt.gaveUp || !attempt.nodeClosing) ? (facts.plan?.holdMicro ?? 0n) : 0n
}
