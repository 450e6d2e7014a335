/**
 * Calculates the amount of a log row by the written rules (docs/catalog.md, "How a charge is computed"). It shares no
 * code with the original charge, so that a mistake there does not confirm itself. Fractions are exact, and the result
 * is rounded up once.
 */

/** A stored catalogue, whose numbers are strings. */
export interface PricedCatalog {
  readonly settings: {
    readonly rates?: Readonly<Record<string, string>> | undefined
    readonly markup?: string | undefined
  }
  readonly providers: Readonly<Record<string, { readonly markup?: string | undefined }>>
  readonly models: readonly {
    readonly id: string
    readonly markup?: string | undefined
    readonly endpoints: readonly PricedEndpoint[]
  }[]
}

interface PricedEndpoint {
  readonly provider: string
  readonly model: string
  readonly price: Keys
  readonly sell?: Keys | undefined
}

export interface MeteredRow<M extends KnownMeter> {
  readonly model: string
  readonly endpointId: string | null
  readonly variant?: string
  /** The markup of the customer. */
  readonly markup?: string
  readonly billingBasis: string
  /** Unix ms. */
  readonly createdAtMs: number
  readonly serviceTier?: string
  readonly usage: Readonly<Partial<Record<M, number>>>
  readonly reportedUsage?: Readonly<Partial<Record<M, number>>>
}

type Keys = Readonly<Record<string, unknown>>
type Units = Readonly<Record<string, number | undefined>>
type Fraction = readonly [above: bigint, below: bigint]

/**
 * The price key, the cost in µRUB of one unit at a price of 1 RUB, and the meter whose price applies if the key has
 * none.
 */
type Rule = readonly [key: string, micro: Fraction, parent?: string]

const METERS = {
  input: ['prompt', [1n, 1n]],
  cache_read: ['input_cache_read', [1n, 1n], 'input'],
  cache_write: ['input_cache_write', [1n, 1n], 'input'],
  cache_write_1h: ['input_cache_write_1h', [1n, 1n], 'cache_write'],
  audio_input: ['audio', [1n, 1n], 'input'],
  audio_cache_read: ['audio_cache_read', [1n, 1n], 'cache_read'],
  image_tokens: ['image_tokens', [1n, 1n], 'input'],
  image_cache_read: ['image_cache_read', [1n, 1n], 'cache_read'],
  output: ['completion', [1n, 1n]],
  reasoning: ['internal_reasoning', [1n, 1n], 'output'],
  audio_output: ['audio_output', [1n, 1n], 'output'],
  image_output_tokens: ['image_output_tokens', [1n, 1n], 'output'],
  characters: ['characters', [1n, 1n]],
  request: ['request', [1_000_000n, 1n]],
  image_input: ['image', [1_000_000n, 1n]],
  image_output: ['image_output', [1_000_000n, 1n]],
  search: ['search', [1_000_000n, 1n]],
  video_seconds: ['video_second', [1_000_000n, 1n]],
  deciseconds: ['second', [1_000_000n, 10n]],
} as const satisfies Readonly<Record<string, Rule>>
/** The caller's meters as a type: if one of them is missing here, the code does not compile. */
type KnownMeter = keyof typeof METERS

const RULES: ReadonlyMap<string, Rule> = new Map(Object.entries(METERS))
const LINES: ReadonlyMap<string, string> = new Map([
  ['1k', '1080'],
  ['2k', '1440'],
  ['4k', '2160'],
  ['hd', '720'],
  ['fhd', '1080'],
  ['uhd', '2160'],
])
const DAY_BEFORE: ReadonlyMap<string, string> = new Map([
  ['mon', 'sun'],
  ['tue', 'mon'],
  ['wed', 'tue'],
  ['thu', 'wed'],
  ['fri', 'thu'],
  ['sat', 'fri'],
  ['sun', 'sat'],
])
const PROVIDER_COST_MICRO_MAX = 100_000_000_000_000n

/** null if the catalogue has no price for it. */
export function recheckedCharge<M extends KnownMeter>(
  { settings, providers, models }: PricedCatalog,
  row: MeteredRow<M>,
): { readonly costMicro: bigint; readonly providerCostMicro: bigint } | null {
  const sold = models.find(({ id }) => id === row.model)
  const endpoint = sold?.endpoints.find(({ provider, model }) => `${provider}/${model}` === row.endpointId)
  if (endpoint === undefined) return null
  const currency = String(endpoint.price['currency'])
  const rateText = currency === 'RUB' ? '1' : new Map(Object.entries(settings.rates ?? {})).get(currency)
  if (rateText === undefined) return null
  const rate = fraction(rateText)
  const seller = new Map(Object.entries(providers)).get(endpoint.provider)
  const markup = sold?.markup ?? seller?.markup ?? settings.markup ?? '1'
  const variant = row.variant ?? null
  const cost = (usage: Units, price: Keys): Fraction => sum(usage, underCondition(price, usage, row), variant)
  const buy = (usage: Units): bigint => roundedUp(times(cost(usage, endpoint.price), rate))
  const sell = (): bigint =>
    roundedUp(
      times(
        endpoint.sell === undefined
          ? times(times(cost(row.usage, endpoint.price), rate), fraction(markup))
          : cost(row.usage, endpoint.sell),
        fraction(row.markup ?? '1'),
      ),
    )
  const provider = buy(row.reportedUsage ?? row.usage)
  return {
    costMicro: row.billingBasis === 'provider_cost' ? buy(row.usage) : sell(),
    providerCostMicro: provider < PROVIDER_COST_MICRO_MAX ? provider : PROVIDER_COST_MICRO_MAX,
  }
}

/**
 * The keys of a price for one request: those of its service tier, else of the first hours in which it arrived, else its
 * own. Over them come those of the last length that is less than all its input tokens.
 */
function underCondition(
  price: Keys,
  usage: Units,
  row: Pick<MeteredRow<KnownMeter>, 'createdAtMs' | 'serviceTier'>,
): Keys {
  const served = new Map(Object.entries(keysOf(price['service_tiers']))).get(row.serviceTier ?? '')
  const own = keysOf(
    served ?? listOf(price['hours']).find((hours) => isDuring(hours, row.createdAtMs)) ?? { tiers: price['tiers'] },
  )
  const input = Object.entries(usage).reduce((all, [meter, units = 0]) => (isInput(meter) ? all + units : all), 0)
  const reached = listOf(own['tiers']).filter(({ above }) => Number(above) < input)
  return { ...price, ...own, ...reached.at(-1) }
}

/** Whether a meter counts tokens of the input: plain, cached, written or of sound. */
function isInput(meter: string): boolean {
  const [, , parent] = RULES.get(meter) ?? []
  return meter === 'input' || (parent !== undefined && isInput(parent))
}

/**
 * Times of a day can be compared as texts. Hours that end before they begin continue through midnight, and then belong
 * to the day before.
 */
function isDuring({ from, to, timezone, days }: Keys, atMs: number): boolean {
  const at = new Date(atMs)
  const zone = { timeZone: String(timezone) }
  const time = at.toLocaleTimeString('en-GB', { ...zone, hour: '2-digit', minute: '2-digit' })
  const [begun, over] = [time >= String(from), time >= String(to)]
  if (!Array.isArray(days)) return String(from) < String(to) ? begun && !over : begun || !over
  const today = at.toLocaleDateString('en-GB', { ...zone, weekday: 'short' }).toLowerCase()
  const beganOn = (day: string): boolean => days.includes(day)
  if (String(from) < String(to)) return begun && !over && beganOn(today)
  return begun ? beganOn(today) : !over && beganOn(DAY_BEFORE.get(today) ?? '')
}

function keysOf(value: unknown): Keys {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}

function listOf(value: unknown): readonly Keys[] {
  return Array.isArray(value) ? value.map(keysOf) : []
}

/** Σ units × price, in µ of the price's currency. */
function sum(usage: Units, prices: Keys, variant: string | null): Fraction {
  let total: Fraction = [0n, 1n]
  for (const [meter, units = 0] of Object.entries(usage)) {
    const known = RULES.get(meter)
    if (known === undefined || units <= 0) continue
    const [above, below] = times(times([BigInt(units), 1n], known[1]), priceOf(meter, prices, variant))
    total = [total[0] * below + above * total[1], total[1] * below]
  }
  return total
}

function priceOf(meter: string, prices: Keys, variant: string | null): Fraction {
  const [key = '', , parent] = RULES.get(meter) ?? []
  const own = prices[key]
  if (own === undefined || own === null) return parent === undefined ? [0n, 1n] : priceOf(parent, prices, variant)
  if (typeof own !== 'object') return fraction(String(own))
  const named = Object.entries(own).map(([name, text]) => [name, fraction(String(text))] as const)
  const asked =
    variant === null
      ? undefined
      : (named.find(([name]) => name === variant) ?? named.find(([name]) => lines(name) === lines(variant)))
  return (
    asked?.[1] ??
    named
      .map(([, price]) => price)
      .reduce((dearest, price) => (price[0] * dearest[1] > dearest[0] * price[1] ? price : dearest), [0n, 1n])
  )
}

/** `1280x720`, `720x1280`, `720p` and `HD` are 720 lines. */
function lines(name: string): string {
  const lower = name.toLowerCase()
  const size = /^(\d+)x(\d+)$/.exec(lower)
  if (size !== null) return String(Math.min(Number(size[1]), Number(size[2])))
  return LINES.get(lower) ?? lower.replace(/^(\d+)p$/, '$1')
}

function fraction(text: string): Fraction {
  const [, sign = '', whole = '', decimals = '', exponent = '0'] =
    /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  if (whole === '') throw new Error(`A stored price is no number: ${text}`)
  const above = BigInt(`${sign === '-' ? '-' : ''}${whole}${decimals}`)
  const places = Number(exponent) - decimals.length
  return places < 0 ? [above, 10n ** BigInt(-places)] : [above * 10n ** BigInt(places), 1n]
}

function times(left: Fraction, right: Fraction): Fraction {
  return [left[0] * right[0], left[1] * right[1]]
}

function roundedUp([above, below]: Fraction): bigint {
  return (above + below - 1n) / below
}
