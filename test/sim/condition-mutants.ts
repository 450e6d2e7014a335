import { GENERATION, type Mutant } from './mutant.ts'

const CONDITIONS = 'src/catalog/price-conditions.ts'

/** Bugs of prices under conditions: which one a request meets, and for which it is held. */
export const CONDITION_MUTANTS: readonly Mutant[] = [
  {
    name: 'the service tier that was asked for is charged, whatever was served',
    file: 'src/pay/operations/chat-attempt.ts',
    find: 'if (tiers.every((tier) => tier === this.#end.serviceTier)) return this.#end.serviceTier',
    replace:
      "if (tiers.length < 2) return (this.#parts.request.parameters['service_tier'] as string | undefined) ?? null",
  },
  {
    name: 'several calls are charged in the tier of the first',
    file: 'src/pay/operations/chat-attempt.ts',
    find: 'if (tiers.every((tier) => tier === this.#end.serviceTier)) return',
    replace: 'return',
  },
  {
    name: 'the hour of the end is charged',
    file: GENERATION,
    find: 'rowPrices(this.#candidate.endpoint, record)',
    replace: 'rowPrices(this.#candidate.endpoint, { ...record, createdAtMs: this.#ports.clock.now() })',
  },
  {
    name: 'a provider’s bill is at the hour of its failure',
    file: 'src/pay/relay/outcome.ts',
    find: 'return { atMs: arrivedAtMs, serviceTier: asked',
    replace: 'return { atMs: arrivedAtMs + 60_000, serviceTier: asked',
  },
  {
    name: 'a length includes its bound',
    file: CONDITIONS,
    find: 'group?.steps.findLast(({ above }) => above < tokens)',
    replace: 'group?.steps.findLast(({ above }) => above <= tokens)',
  },
  {
    name: 'hours begin a minute late',
    file: CONDITIONS,
    find: 'from < to ? from <= minute &&',
    replace: 'from < to ? from < minute &&',
  },
  {
    name: 'hours include their end',
    file: CONDITIONS,
    find: ' && minute < to :',
    replace: ' && minute <= to :',
  },
  {
    name: 'hours through midnight end at midnight',
    file: CONDITIONS,
    find: ': from <= minute || minute < to',
    replace: ': from <= minute && minute < to',
  },
  {
    name: 'a hold is for the cheapest condition',
    file: CONDITIONS,
    find: 'compare(one[meter], other[meter]) < 0 ? other[meter] : one[meter]',
    replace: 'compare(one[meter], other[meter]) < 0 ? one[meter] : other[meter]',
  },
  {
    name: 'a hold is for a short request',
    file: CONDITIONS,
    find: 'steps.filter(({ above }) => above < inputTokens || above < 0)',
    replace: 'steps.filter(({ above }) => above < 0)',
  },
  {
    name: 'a hold forgets the hour',
    file: CONDITIONS,
    find: 'group === now ||',
    replace: 'group === conditions.sell.at(-1) ||',
  },
  {
    name: 'a hold believes that each provider serves the tier that it is asked for',
    file: 'src/pay/plan/parameter-costs.ts',
    find: 'if (endpoint.provider.servesAsAsked !== true) return undefined',
    replace: '',
  },
  {
    name: 'a hold forgets the tier that is asked for',
    file: 'src/pay/plan/parameter-costs.ts',
    find: 'wished === null ? [PLAIN_TIER] : [PLAIN_TIER, wished]',
    replace: '[PLAIN_TIER]',
  },
  {
    name: 'a hold of units forgets the dearer condition',
    file: 'src/pay/plan/unit-plan.ts',
    find: 'const sell = dearestSell(endpoint, reach)',
    replace: 'const { sell } = endpoint',
  },
]
