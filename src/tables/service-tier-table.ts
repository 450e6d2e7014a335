/** Our name for the tier of a request that names none; the other tiers have OpenAI's names. */
export const PLAIN_TIER = 'default'
/**
 * Bedrock's faster form of some models. Its API has it as a performance setting, in requests and answers, and not as a
 * tier.
 */
export const OPTIMIZED_TIER = 'optimized'

/** The page and the date of a source. */
interface Sourced {
  readonly source: string
  readonly date: string
}

/** A service's name for a tier, in lower case, if it differs from ours; null = it means no certain tier. */
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
  // The service decides the tier.
  { word: 'auto', tier: null, ...OPENAI },
]
const TIERS: ReadonlyMap<string, string | null> = new Map(WORDS.map(({ word, tier }) => [word, tier]))
const WORD_CHARS_MAX = 64

/** The tier that a service or a client means by a word; null = none. An unknown word is a tier of that name. */
export function tierNamed(word: unknown): string | null {
  if (typeof word !== 'string' || word === '' || word.length > WORD_CHARS_MAX) return null
  const lower = word.toLowerCase()
  const tier = TIERS.get(lower)
  return tier === undefined ? lower : tier
}

/** How to request a tier from a service. */
interface TierService extends Sourced {
  readonly adapter: string
  /** A host and all names below it; absent = every other host of the protocol. */
  readonly host?: string
  /** A part of the address's path; absent = any path. */
  readonly path?: string
  /** The service's words by our names; other tiers cannot be requested. null = its words are ours. */
  readonly words: ReadonlyMap<string, string> | null
  /**
   * Its word for the plain tier, sent where a setting of the operator's account would otherwise decide; null = none is
   * sent, since the service may refuse it.
   */
  readonly plain: string | null
  /** Whether a request without a tier gets the plain tier; otherwise it may get any. */
  readonly isPlain: boolean
}

function same(...words: readonly string[]): ReadonlyMap<string, string> {
  return new Map(words.map((word) => [word, word]))
}

/** The first row that matches an address counts. */
export const TIER_SERVICES: readonly TierService[] = [
  { adapter: 'openai', host: 'api.openai.com', words: null, plain: 'default', isPlain: false, ...OPENAI },
  // A deployment has a default tier of its own. Older versions of Azure's protocol refuse the word.
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
  // No page says what the providers behind it do with a request without a tier.
  {
    adapter: 'openai',
    host: 'openrouter.ai',
    words: same('flex', 'priority'),
    plain: null,
    isPlain: false,
    ...OPENROUTER,
  },
  { adapter: 'openai', words: null, plain: null, isPlain: false, ...OPENAI },
  // It serves priority if the operator has bought it, and reports the tier in the answer.
  {
    adapter: 'anthropic',
    host: 'api.anthropic.com',
    words: new Map([['priority', 'auto']]),
    plain: 'standard_only',
    isPlain: false,
    ...ANTHROPIC,
  },
  { adapter: 'anthropic', words: new Map([['priority', 'auto']]), plain: null, isPlain: false, ...ANTHROPIC },
  // A request without a tier may be served from bought throughput.
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

/** The adapter, and the base URL before each operation's path. */
type Address = Readonly<Record<'adapter' | 'baseUrl', string>>

/** The word that requests a tier from a service; null = the tier cannot be requested. */
export function askedWord({ adapter, baseUrl }: Address, tier: string): string | null {
  const service = serviceAt(adapter, baseUrl)
  return service === undefined ? null : service.words === null ? tier : (service.words.get(tier) ?? null)
}

/** The word that requests the plain tier from a service; null = none is sent. */
export function plainWordAt({ adapter, baseUrl }: Address): string | null {
  return serviceAt(adapter, baseUrl)?.plain ?? null
}

/** Whether a service serves only the requested tier, given the word that is sent for the plain one. */
export function servesAsAsked({ adapter, baseUrl }: Address, plainWord: string | null): boolean {
  const service = serviceAt(adapter, baseUrl)
  return service !== undefined && (plainWord !== null || service.isPlain)
}

/** The words of Anthropic's and of Gemini's clients, by our names. */
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
