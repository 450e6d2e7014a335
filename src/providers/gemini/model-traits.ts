/** The unit in which searches are billed: each query, or an answer that searched. */
export type SearchBilling = 'queries' | 'answer'

/** Differences between models that a request must know. */
export interface GeminiTraits {
  /** How thinking is requested; `shown` models decide on it themselves and can only be asked to show it. */
  readonly thinking: 'none' | 'shown' | 'budget' | 'level'
  /** The range of a thinking budget, in tokens. */
  readonly budgetMin: number
  readonly budgetMax: number
  readonly canStopThinking: boolean
  /** Thinking levels, the lowest first. */
  readonly levels: readonly string[]
  /** Whether tool calls of the running turn must carry their signatures. */
  readonly needsSignatures: boolean
  /** Whether tools may be combined with an answer in JSON. */
  readonly takesToolsWithJson: boolean
  readonly billsSearch: SearchBilling
}

const PLAIN: GeminiTraits = {
  thinking: 'none',
  budgetMin: 0,
  budgetMax: 0,
  canStopThinking: false,
  levels: [],
  needsSignatures: false,
  takesToolsWithJson: false,
  billsSearch: 'answer',
}
const BUDGET_MAX_FLASH = 24_576
const BUDGET_MAX_PRO = 32_768
const BUDGET_MIN_PRO = 128
const BUDGET_MIN_LITE = 512

/**
 * Decided by name, since the protocol cannot be asked. An alias of the latest model counts as the newest generation, an
 * unknown name as a plain model.
 */
export function traitsOf(upstreamModel: string): GeminiTraits {
  const model = upstreamModel.toLowerCase()
  const [, major = '', minor = '0'] = /gemini-(\d+)(?:\.(\d+))?/.exec(model) ?? []
  const isLatest = major === '' && /gemini-(pro|flash|flash-lite)-latest/.test(model)
  const version = isLatest ? 3.9 : Number(`${major}.${minor}`)
  if (/-(tts|live|native-audio|computer-use|embedding)/.test(model)) return PLAIN
  if (Number.isNaN(version) || version < 2.5) return PLAIN
  const isImage = model.includes('-image')
  if (version < 3) return isImage ? PLAIN : budgetTraits(model)
  const newest = { ...PLAIN, takesToolsWithJson: true, billsSearch: 'queries' as const }
  return isImage
    ? { ...newest, thinking: 'shown' }
    : { ...newest, thinking: 'level', levels: levelsOf(model, version), needsSignatures: true }
}

function budgetTraits(model: string): GeminiTraits {
  if (model.includes('-pro'))
    return { ...PLAIN, thinking: 'budget', budgetMin: BUDGET_MIN_PRO, budgetMax: BUDGET_MAX_PRO }
  return {
    ...PLAIN,
    thinking: 'budget',
    budgetMin: model.includes('-lite') ? BUDGET_MIN_LITE : 1,
    budgetMax: BUDGET_MAX_FLASH,
    canStopThinking: true,
  }
}

function levelsOf(model: string, version: number): readonly string[] {
  if (!model.includes('-pro')) return ['minimal', 'low', 'medium', 'high']
  return version < 3.1 ? ['low', 'high'] : ['low', 'medium', 'high']
}
