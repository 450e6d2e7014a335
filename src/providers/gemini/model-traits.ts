/** What an answer that searched is billed for: each query, or the answer once. */
export type SearchBilling = 'queries' | 'answer'

/** What models of the protocol differ in, as far as a request has to know it. */
export interface ModelTraits {
  /** How thinking is asked for; `shown` models think as they like and can only be asked to show it. */
  readonly thinking: 'none' | 'shown' | 'budget' | 'level'
  /** Bounds of a thinking budget in tokens, where there is one. */
  readonly budgetMin: number
  readonly budgetMax: number
  readonly canStopThinking: boolean
  /** Levels of thinking, the least first. */
  readonly levels: readonly string[]
  /** Calls of tools in the running turn are refused without the signature they came with. */
  readonly needsSignatures: boolean
  /** Takes tools beside an answer in JSON. */
  readonly takesToolsWithJson: boolean
  readonly billsSearch: SearchBilling
}

const PLAIN: ModelTraits = {
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
 * By name, as the protocol has no other word for it. An alias of the latest model is taken for the newest generation,
 * an unknown name for a plain model.
 */
export function traitsOf(upstreamModel: string): ModelTraits {
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

function budgetTraits(model: string): ModelTraits {
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
