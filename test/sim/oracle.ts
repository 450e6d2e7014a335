import type { Endpoint } from '../../src/catalog/catalog.ts'
import type { Usage } from '../../src/meters.ts'
import type { PriceSheet } from '../../src/meters.ts'
import type { TokenCounter } from '../../src/plan/token-count.ts'
import type { AttemptFacts, RequestFacts } from './facts.ts'
import { isUnits } from './requests.ts'

/**
 * Who pays (guarantees.md 3.5), computed a second time, only from what is visible outside the gateway. `exact` = the
 * price of the answer in micro-rubles, and what the provider bills for it; `free`; `open` = both are right.
 */
export type Due =
  | { readonly kind: 'free' }
  | ({ readonly kind: 'exact' | 'free-or' } & Price)
  | { readonly kind: 'open' }

interface Price {
  readonly micro: bigint
  readonly billedMicro: bigint
  /** No more was reported than such a request can use: its hold covers it. */
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
        ? free(facts, last, reported(facts, last, tokens), guarded)
        : exact(facts, last, reported(facts, last, tokens), tokens)
    case 'failed':
      return failed(facts, last, tokens, guarded)
    case 'cancelled': {
      // Whoever still listens was cut off by us.
      if (last.clientPresent || !last.headers) return { kind: 'free' }
      const due = exact(facts, last, received(facts, last, tokens), tokens)
      return last.nodeClosing ? { ...due, kind: 'free-or' } : due
    }
  }
}

/** Where the account has used up the free amount of an hour, the provider's price of it may be charged (rule 20). */
function free(facts: RequestFacts, attempt: AttemptFacts, usage: Usage, guarded: boolean): Due {
  const { buy } = attempt.endpoint
  return guarded
    ? {
        kind: 'free-or',
        micro: priceOf(bounded(facts, usage), buy),
        billedMicro: priceOf(usage, buy),
        isOrdinary: false,
      }
    : { kind: 'free' }
}

function failed(facts: RequestFacts, last: AttemptFacts, tokens: TokenCounter, guarded: boolean): Due {
  if (!facts.request.stream || last.text === '') return { kind: 'free' }
  const delivered = facts.plan?.snapshot.settings.midstreamError === 'delivered'
  return last.clientPresent && !delivered
    ? free(facts, last, received(facts, last, tokens), guarded)
    : exact(facts, last, received(facts, last, tokens), tokens)
}

/** No tokens, no words, and no finish that makes it an answer. */
function isEmpty({ request }: RequestFacts, { text, parts, finishes }: AttemptFacts): boolean {
  if (isUnits(request)) return text === ''
  const [first] = [...finishes].toSorted(([left], [right]) => left - right)
  return text === '' && parts.every(({ usage }) => (usage?.usage.output ?? 0) === 0) && (first?.[1] ?? null) === null
}

/**
 * All that the providers say, and our count of what they do not: of several calls no less than some of them have told.
 */
function reported({ request }: RequestFacts, { endpoint, parts, text }: AttemptFacts, tokens: TokenCounter): Usage {
  const told = (meter: 'input' | 'output' | 'search', count: () => number): number => {
    const said = parts.flatMap(({ usage }) => (usage?.usage[meter] === undefined ? [] : [usage.usage[meter]]))
    const sum = said.reduce((total, units) => total + units, 0)
    return said.length === parts.length ? sum : Math.max(sum, count())
  }
  const input = told('input', () => request.count(tokens))
  if (request.type === 'embeddings') return { input }
  // A ranking of so few documents is one search.
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
 * Of an answer that was cut off: as far as the providers have told, and at least the words that came. What comes at
 * once is nothing until then.
 */
function received(facts: RequestFacts, attempt: AttemptFacts, tokens: TokenCounter): Usage {
  if (isUnits(facts.request)) return {}
  const usage = reported(facts, attempt, tokens)
  return { ...usage, output: Math.max(usage.output ?? 0, countText(attempt.text, tokens)) }
}

/** What there can be: of each prompt as many answers as are written, each as long as it may be. */
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
  { endpoint }: AttemptFacts,
  usage: Usage,
  tokens: TokenCounter,
): Extract<Due, { kind: 'exact' | 'free-or' }> {
  const most = bounded(facts, usage)
  const { input = 0, output = 0, search = 0 } = usage
  const isOrdinary =
    input <= facts.request.count(tokens) && output <= (most.output ?? 0) && search <= (most.search ?? 0)
  return { kind: 'exact', micro: priceOf(most, endpoint.sell), billedMicro: priceOf(usage, endpoint.buy), isOrdinary }
}

/** Σ units × price, rounded up once, in separate arithmetic. */
export function priceOf(usage: Usage, sheet: PriceSheet): bigint {
  const SCALE = 12
  let total = 0n
  for (const meter of ['input', 'output', 'request', 'search'] as const) {
    const { digits, scale } = sheet[meter]
    total += BigInt(usage[meter] ?? 0) * digits * 10n ** BigInt(SCALE - scale)
  }
  const unit = 10n ** BigInt(SCALE)
  return total / unit + (total % unit === 0n ? 0n : 1n)
}

/** What failed attempts and free answers cost the operator, as far as anybody can tell. */
export function insuredOf(facts: RequestFacts, due: Due, tokens: TokenCounter): bigint {
  let sum = 0n
  for (const [index, attempt] of facts.attempts.entries()) {
    const isLast = index === facts.attempts.length - 1
    sum +=
      isLast && due.kind === 'exact' ? restOf(facts, attempt, due.billedMicro) : insuredAttempt(facts, attempt, tokens)
  }
  return sum
}

/** Of what was charged as what came before it was cut off: the rest of the most that it may cost. */
function restOf(facts: RequestFacts, attempt: AttemptFacts, billedMicro: bigint): bigint {
  const restMicro = (facts.plan?.holdMicro ?? 0n) - billedMicro
  // What a node cuts off because it stops is never charged.
  return isCutOff(facts, attempt) && restMicro > 0n ? restMicro : 0n
}

/** Its client left, and it was read on for as long as one does where the provider bills it all the same. */
function isCutOff(facts: RequestFacts, { endpoint, outcome, gaveUp, clientPresent }: AttemptFacts): boolean {
  const keepsBilling = !facts.request.stream || !endpoint.provider.cancelStopsBilling
  return keepsBilling && !clientPresent && (gaveUp || outcome === 'cancelled')
}

function insuredAttempt(facts: RequestFacts, attempt: AttemptFacts, tokens: TokenCounter): bigint {
  const buy = (usage: Usage): bigint => priceOf(usage, (attempt.endpoint satisfies Endpoint).buy)
  const said = facts.request.stream && attempt.text !== ''
  // Once its words have gone out, what a broken stream cost is what came.
  if (said) return buy(received(facts, attempt, tokens))
  if (attempt.outcome === 'ended' || attempt.parts.some(({ usage }) => usage !== null))
    return buy(reported(facts, attempt, tokens))
  // What comes at once was made before its head was sent, unless an error stood in its place.
  if (attempt.headers && isUnits(facts.request) && !attempt.erred) return buy(reported(facts, attempt, tokens))
  if (attempt.headers) return buy(received(facts, attempt, tokens))
  // It was read on, and nothing came: the most that it may have cost.
  return isCutOff(facts, attempt) && (attempt.gaveUp || !attempt.nodeClosing) ? (facts.plan?.holdMicro ?? 0n) : 0n
}
