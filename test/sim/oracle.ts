import type { Endpoint } from '../../src/catalog/catalog.ts'
import type { Usage } from '../../src/meters.ts'
import type { PriceSheet } from '../../src/meters.ts'
import type { TokenCounter } from '../../src/plan/token-count.ts'
import type { AttemptFacts, RequestFacts } from './facts.ts'

/**
 * Who pays (reliability.md 3.5), told a second time and only from what was seen outside the gateway. `exact` = the price
 * of the answer in micro-rubles; `free`; `open` = both are right.
 */
export type Due = { readonly kind: 'free' } | { readonly kind: 'exact'; readonly micro: bigint; readonly usage: Usage } | { readonly kind: 'free-or'; readonly micro: bigint; readonly usage: Usage } | { readonly kind: 'open' }

export function dueOf(facts: RequestFacts, tokens: TokenCounter, guarded: boolean): Due {
  const last = facts.attempts.at(-1)
  if (last === undefined) return { kind: 'free' }
  switch (last.outcome) {
    case 'running':
      return { kind: 'open' }
    case 'ended':
      return isEmpty(last) ? free(last, billed(facts, last, tokens), guarded) : exact(last, billed(facts, last, tokens))
    case 'failed':
      return failed(facts, last, tokens, guarded)
    case 'cancelled': {
      // Whoever still listens was cut off by us.
      if (last.clientPresent || !last.headers) return { kind: 'free' }
      const due = exact(last, counted(facts, last, tokens))
      return last.nodeClosing ? { ...due, kind: 'free-or' } : due
    }
  }
}

/** Where the account has used up what is free in an hour, the provider's price of it may be charged (row 20). */
function free({ endpoint }: AttemptFacts, usage: Usage, guarded: boolean): Due {
  return guarded ? { kind: 'free-or', micro: priceOf(usage, endpoint.buy), usage } : { kind: 'free' }
}

function failed(facts: RequestFacts, last: AttemptFacts, tokens: TokenCounter, guarded: boolean): Due {
  if (!facts.request.stream || last.text === '') return { kind: 'free' }
  const delivered = facts.plan?.snapshot.settings.midstreamError === 'delivered'
  return last.clientPresent && !delivered ? free(last, counted(facts, last, tokens), guarded) : exact(last, counted(facts, last, tokens))
}

/** No tokens, no words, and no finish that makes it an answer. */
function isEmpty({ text, usage, finish }: AttemptFacts): boolean {
  return text === '' && (usage === null || usage.outputTokens === 0) && finish === null
}

function counted(facts: RequestFacts, last: AttemptFacts, tokens: TokenCounter): Usage {
  const whole = !facts.request.stream && last.outcome !== 'ended'
  return { input: tokens.countChat(facts.request, 'o200k_base'), output: whole || last.text === '' ? 0 : tokens.countText(last.text, 'o200k_base') }
}

/** The provider's word within the bounds of rule 10, else our count. */
function billed(facts: RequestFacts, attempt: AttemptFacts, tokens: TokenCounter): Usage {
  if (attempt.usage === null) return counted(facts, attempt, tokens)
  const { inputTokens, outputTokens } = attempt.usage
  const inputMax = Math.floor(tokens.countChat(facts.request, 'o200k_base') * 1.5) + 1_000
  const outputMax = Math.floor(((facts.plan?.maxTokens ?? 0) * 11) / 10) + 16
  return { input: Math.min(inputTokens, inputMax), output: Math.min(outputTokens, outputMax) }
}

function exact({ endpoint }: AttemptFacts, usage: Usage): Extract<Due, { kind: 'exact' }> {
  return { kind: 'exact', micro: priceOf(usage, endpoint.sell), usage }
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
  if (said) return buy(counted(facts, attempt, tokens))
  if (attempt.usage !== null) return buy(billed(facts, attempt, tokens))
  return attempt.headers ? buy(counted(facts, attempt, tokens)) : 0n
}
