/** Our word for the tier that a request has which names none; the other tiers are called as OpenAI calls them. */
export const PLAIN_TIER = 'default'
/** Bedrock's faster form of some models, which is asked for and told as their performance, and not as a tier. */
export const OPTIMIZED_TIER = 'optimized'

/** Where a word was read, and when. */
interface Sourced {
  readonly source: string
  readonly date: string
}

/** A service's word for a tier that has another name here, in lower case; null = it names none. */
interface TierWord extends Sourced {
  readonly word: string
  readonly tier: string | null
}

const ANTHROPIC = { source: 'https://platform.claude.com/docs/en/api/service-tiers', date: '2026-11-27' }
const AZURE = {
  source: 'https://learn.microsoft.com/en-us/azure/foundry/openai/concepts/priority-processing',
  date: '2026-11-27',
}
const BEDROCK = {
  source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/service-tiers-inference.html',
  date: '2026-11-27',
}
const GEMINI = { source: 'https://ai.google.dev/gemini-api/docs/priority-inference', date: '2026-11-27' }
const GROQ = { source: 'https://console.groq.com/docs/service-tiers', date: '2026-11-27' }
const OPENAI = { source: 'https://platform.openai.com/docs/api-reference/responses/create', date: '2026-11-27' }
const OPENROUTER = { source: 'https://openrouter.ai/docs/guides/features/service-tiers', date: '2026-11-27' }
const VERTEX = {
  source: 'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo',
  date: '2026-11-27',
}
const XAI = {
  source: 'https://docs.x.ai/developers/advanced-api-usage/priority-processing',
  date: '2026-11-27',
}

const WORDS: readonly TierWord[] = [
  { word: 'standard', tier: PLAIN_TIER, ...ANTHROPIC },
  { word: 'standard_only', tier: PLAIN_TIER, ...ANTHROPIC },
  { word: 'on_demand', tier: PLAIN_TIER, ...GROQ },
  { word: 'on_demand_flex', tier: 'flex', ...VERTEX },
  { word: 'on_demand_priority', tier: 'priority', ...VERTEX },
  { word: 'traffic_type_unspecified', tier: null, ...VERTEX },
  { word: 'service_tier_unspecified', tier: null, ...GEMINI },
  { word: 'service_tier_standard', tier: PLAIN_TIER, ...GEMINI },
  { word: 'service_tier_flex', tier: 'flex', ...GEMINI },
  { word: 'service_tier_priority', tier: 'priority', ...GEMINI },
  { word: 'fast', tier: 'priority', ...OPENAI },
  // A wish, and no tier: the service decides.
  { word: 'auto', tier: null, ...OPENAI },
]
const TIERS: ReadonlyMap<string, string | null> = new Map(WORDS.map(({ word, tier }) => [word, tier]))
const WORD_CHARS_MAX = 64

/** The tier that a service or a client means by a word; null = none. A word that is not known is its own. */
export function tierNamed(word: unknown): string | null {
  if (typeof word !== 'string' || word === '' || word.length > WORD_CHARS_MAX) return null
  const lower = word.toLowerCase()
  const tier = TIERS.get(lower)
  return tier === undefined ? lower : tier
}

/** How a service is asked for a tier. */
interface TierService extends Sourced {
  readonly adapter: string
  /** A host with all names below it; absent = every other one of the protocol. */
  readonly host?: string
  /** A part of the address' path; absent = any path. */
  readonly path?: string
  /** Its words by ours, and no others; null = the same as ours. */
  readonly words: ReadonlyMap<string, string> | null
  /**
   * Its word for the plain tier, sent where it would else decide by a setting of the operator's account; null = it is
   * sent none, since it may refuse one.
   */
  readonly plain: string | null
  /** Whether it serves the plain tier where it is asked for none; else it may serve any. */
  readonly isPlain: boolean
}

function same(...words: readonly string[]): ReadonlyMap<string, string> {
  return new Map(words.map((word) => [word, word]))
}

/** The first row of an address counts. */
export const TIER_SERVICES: readonly TierService[] = [
  { adapter: 'openai', host: 'api.openai.com', words: null, plain: 'default', isPlain: false, ...OPENAI },
  // A deployment has a tier of its own. Older versions of the protocol there refuse the word.
  {
    adapter: 'openai',
    host: 'openai.azure.com',
    path: '/openai/v1',
    words: same('priority'),
    plain: 'default',
    isPlain: false,
    ...AZURE,
  },
  { adapter: 'openai', host: 'openai.azure.com', words: same('priority'), plain: null, isPlain: false, ...AZURE },
  { adapter: 'openai', host: 'api.groq.com', words: same('flex', 'performance'), plain: null, isPlain: true, ...GROQ },
  { adapter: 'openai', host: 'api.x.ai', words: same('priority'), plain: null, isPlain: true, ...XAI },
  // What the makers behind it do without a word, no page says.
  {
    adapter: 'openai',
    host: 'openrouter.ai',
    words: same('flex', 'priority'),
    plain: null,
    isPlain: false,
    ...OPENROUTER,
  },
  { adapter: 'openai', words: null, plain: null, isPlain: false, ...OPENAI },
  // It serves priority where the operator has bought it, and says so afterwards.
  {
    adapter: 'anthropic',
    host: 'api.anthropic.com',
    words: new Map([['priority', 'auto']]),
    plain: 'standard_only',
    isPlain: false,
    ...ANTHROPIC,
  },
  { adapter: 'anthropic', words: new Map([['priority', 'auto']]), plain: null, isPlain: false, ...ANTHROPIC },
  // Without a word it may serve from bought throughput.
  {
    adapter: 'gemini',
    path: '/publishers/',
    words: same('flex', 'priority'),
    plain: null,
    isPlain: false,
    ...VERTEX,
  },
  {
    adapter: 'gemini',
    host: 'generativelanguage.googleapis.com',
    words: same('flex', 'priority'),
    plain: null,
    isPlain: true,
    ...GEMINI,
  },
  { adapter: 'gemini', words: same('flex', 'priority'), plain: null, isPlain: false, ...GEMINI },
  {
    adapter: 'bedrock',
    words: same('flex', 'priority', 'reserved', OPTIMIZED_TIER),
    plain: null,
    isPlain: true,
    ...BEDROCK,
  },
]

function serviceAt(adapter: string, baseUrl: string): TierService | undefined {
  const { hostname = '', pathname = '' } = URL.canParse(baseUrl) ? new URL(baseUrl) : {}
  return TIER_SERVICES.find(
    ({ adapter: of, host, path }) =>
      of === adapter &&
      (host === undefined || hostname === host || hostname.endsWith(`.${host}`)) &&
      (path === undefined || pathname.includes(path)),
  )
}

/** Who is asked: an adapter, and the address before each operation's path. */
type Address = Readonly<Record<'adapter' | 'baseUrl', string>>

/** The word by which a service is asked for a tier; null = it cannot be. */
export function askedWord({ adapter, baseUrl }: Address, tier: string): string | null {
  const service = serviceAt(adapter, baseUrl)
  return service === undefined ? null : service.words === null ? tier : (service.words.get(tier) ?? null)
}

/** The word that asks a service for the plain tier; null = it is not sent one. */
export function plainWordAt({ adapter, baseUrl }: Address): string | null {
  return serviceAt(adapter, baseUrl)?.plain ?? null
}

/** Whether a service serves no tier that it was not asked for, given the word that it is sent for the plain one. */
export function servesAsAsked({ adapter, baseUrl }: Address, plainWord: string | null): boolean {
  const service = serviceAt(adapter, baseUrl)
  return service !== undefined && (plainWord !== null || service.isPlain)
}

/** The words of Anthropic's and of Gemini's clients, by ours. */
const TOLD = {
  messages: new Map([[PLAIN_TIER, 'standard']]),
  gemini: new Map([
    [PLAIN_TIER, 'ON_DEMAND'],
    ['flex', 'ON_DEMAND_FLEX'],
    ['priority', 'ON_DEMAND_PRIORITY'],
  ]),
} as const

/** A served tier in the words of a client's protocol. */
export function toldTier(protocol: keyof typeof TOLD, tier: string): string {
  return TOLD[protocol].get(tier) ?? (protocol === 'gemini' ? tier.toUpperCase() : tier)
}
