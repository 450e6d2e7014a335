import type { Endpoint } from '../../src/catalog/catalog.ts'
import type { Usage } from '../../src/meters.ts'
import type { PriceSheet } from '../../src/meters.ts'
import type { TokenCounter } from '../../src/plan/token-count.ts'
import type { AttemptFacts, RequestFacts } from './facts.ts'

/**
 * Who pays (reliability.md 3.5), told a second time and only from what was seen outside the gateway. `exact` = the price
 * of the answer in micro-rubles, and what the provider bills for it; `free`; `open` = both are right.
 */
export type Due = { readonly kind: 'free' } | ({ readonly kind: 'exact' | 'free-or' } & Price) | { readonly kind: 'open' }

interface Price {
  readonly micro: bigint
  readonly billedMicro: bigint
}

export function dueOf(facts: RequestFacts, tokens: TokenCounter, guarded: boolean): Due {
  const last = facts.attempts.at(-1)
  if (last === undefined) return { kind: 'free' }
  switch (last.outcome) {
    case 'running':
      return { kind: 'open' }
    case 'ended':
      return isEmpty(last) ? free(facts, last, reported(facts, last, tokens), guarded) : exact(facts, last, reported(facts, last, tokens))
    case 'failed':
      return failed(facts, last, tokens, guarded)
    case 'cancelled': {
      // Whoever still listens was cut off by us.
      if (last.clientPresent || !last.headers) return { kind: 'free' }
      const due = exact(facts, last, received(facts, last, tokens))
      return last.nodeClosing ? { ...due, kind: 'free-or' } : due
    }
  }
}

/** Where the account has used up what is free in an hour, the provider's price of it may be charged (row 20). */
function free(facts: RequestFacts, attempt: AttemptFacts, usage: Usage, guarded: boolean): Due {
  const { buy } = attempt.endpoint
  return guarded ? { kind: 'free-or', micro: priceOf(bounded(facts, usage), buy), billedMicro: priceOf(usage, buy) } : { kind: 'free' }
}

function failed(facts: RequestFacts, last: AttemptFacts, tokens: TokenCounter, guarded: boolean): Due {
  if (!facts.request.stream || last.text === '') return { kind: 'free' }
  const delivered = facts.plan?.snapshot.settings.midstreamError === 'delivered'
  return last.clientPresent && !delivered ? free(facts, last, received(facts, last, tokens), guarded) : exact(facts, last, received(facts, last, tokens))
}

/** No tokens, no words, and no finish that makes it an answer. */
function isEmpty({ text, usage, finish }: AttemptFacts): boolean {
  return text === '' && (usage === null || usage.outputTokens === 0) && finish === null
}

function counted(facts: RequestFacts, last: AttemptFacts, tokens: TokenCounter): Usage {
  return { input: tokens.countChat(facts.request, 'o200k_base'), output: last.text === '' ? 0 : tokens.countText(last.text, 'o200k_base') }
}

/** All that the provider says, and our count of what it does not. */
function reported(facts: RequestFacts, attempt: AttemptFacts, tokens: TokenCounter): { readonly input: number; readonly output: number } {
  const ours = counted(facts, attempt, tokens)
  const { input = ours.input ?? 0, output = ours.output ?? 0 } = attempt.usage?.usage ?? {}
  return { input, output }
}

/** Of an answer that was cut off: as far as the provider has told, and at least the words that came. */
function received(facts: RequestFacts, attempt: AttemptFacts, tokens: TokenCounter): Usage {
  const { input, output } = reported(facts, attempt, tokens)
  return { input, output: Math.max(output, counted(facts, attempt, tokens).output ?? 0) }
}

/** What there can be. */
function bounded(facts: RequestFacts, { input = 0, output = 0 }: Usage): Usage {
  const { messages, textBytes } = facts.request
  return { input: Math.min(input, textBytes + 8 * (messages.length + 1) + 1_000), output: Math.min(output, facts.plan?.maxTokens ?? 0) }
}

function exact(facts: RequestFacts, { endpoint }: AttemptFacts, usage: Usage): Extract<Due, { kind: 'exact' | 'free-or' }> {
  return { kind: 'exact', micro: priceOf(bounded(facts, usage), endpoint.sell), billedMicro: priceOf(usage, endpoint.buy) }
}

/** Σ units × price, rounded up once, in arithmetic of its own. */
export function priceOf(usage: Usage, sheet: PriceSheet): bigint {
  const SCALE = 12
  let total = 0n
  for (const meter of ['input', 'output'] as const) {
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
    if (isLast && due.kind === 'exact') continue
    sum += insuredAttempt(facts, attempt, tokens)
  }
  return sum
}

function insuredAttempt(facts: RequestFacts, attempt: AttemptFacts, tokens: TokenCounter): bigint {
  const buy = (usage: Usage): bigint => priceOf(usage, (attempt.endpoint satisfies Endpoint).buy)
  const said = facts.request.stream && attempt.text !== ''
  // Once its words have gone out, what a broken stream cost is what came.
  if (said) return buy(received(facts, attempt, tokens))
  if (attempt.usage !== null) return buy(reported(facts, attempt, tokens))
  if (attempt.headers) return buy(received(facts, attempt, tokens))
  // Its client left, it was read on, and nothing came: the most that it may have cost.
  const keepsBilling = !facts.request.stream || !attempt.endpoint.provider.cancelStopsBilling
  const isCutOff = attempt.gaveUp || (attempt.outcome === 'cancelled' && (facts.cancelled || !attempt.nodeClosing))
  return isCutOff && !attempt.clientPresent && keepsBilling ? (facts.plan?.holdMicro ?? 0n) : 0n
}
