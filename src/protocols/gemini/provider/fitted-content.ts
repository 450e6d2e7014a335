import type { JsonObject } from '../../../base/json-text.ts'
import { effortTokens } from '../../answers/reasoning-wish.ts'
import { CONTINUE, PREFILL } from '../../models/told-words.ts'
import { listOf, objectOf, textOf } from '../../wire/raw-json.ts'
import { member, spellings } from '../client/members.ts'
import { NO_SIGNATURE } from './contents.ts'
import { EFFORT_LEVELS, MAX_TOKENS_DEFAULT } from './generation-config.ts'
import { GEMINI_TRAITS, type GeminiTraits } from '../../models/gemini-traits.ts'

/** A client's own body of `generateContent` as a model takes it. */
export interface FittedContent {
  readonly body: JsonObject
  /** What is not as the client said, by its names. */
  readonly changed: readonly string[]
}

const PENALTIES = ['frequencyPenalty', 'presencePenalty']

/** Leaves out what a model of Google's would refuse (the rows of `gemini-traits.ts`); nothing else. */
export function fittedContent(given: JsonObject, upstreamModel: string): FittedContent {
  const traits = GEMINI_TRAITS.of(upstreamModel)
  if (traits === null) return { body: given, changed: [] }
  const changed: string[] = []
  const config: Record<string, unknown> = { ...objectOf(given['generationConfig']) }
  if (!traits.samples) changed.push(...PENALTIES.filter((name) => removed(config, name)))
  if (fitThinking(config, traits)) changed.push('thinkingConfig')
  const contents = listOf(given['contents'])
  const signed = traits.needsSignatures ? contents.map(signedContent) : contents
  const isBegun = !traits.takesPrefill && isPrefilled(contents.at(-1))
  const isSame = changed.length === 0 && !isBegun && signed.every((content, at) => content === contents[at])
  if (isSame) return { body: given, changed }
  const continued = isBegun ? [...signed, { role: 'user', parts: [{ text: CONTINUE }] }] : signed
  const { generationConfig: _config, ...rest } = given
  return {
    body: { ...rest, contents: continued, ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }) },
    changed: [...changed.map((name) => `generationConfig.${name}`), ...(isBegun ? [PREFILL] : [])],
  }
}

function removed(object: Record<string, unknown>, name: string): boolean {
  const given = spellings(name).filter((spelt) => object[spelt] !== undefined)
  for (const spelt of given) delete object[spelt]
  return given.length > 0
}

/** Whether the client's `thinkingConfig` had to change. */
function fitThinking(config: Record<string, unknown>, traits: GeminiTraits): boolean {
  const given = objectOf(member(config, 'thinkingConfig'))
  if (given === null) return false
  const level = textOf(member(given, 'thinkingLevel'))?.toLowerCase() ?? null
  const budget = member(given, 'thinkingBudget')
  const amount = amountOf(level, typeof budget === 'number' ? budget : null, traits, outputMax(config))
  if (traits.thinking !== 'none' && amount.level === level && amount.budget === (budget ?? null)) return false
  const others = { ...given }
  removed(others, 'thinkingLevel')
  removed(others, 'thinkingBudget')
  removed(config, 'thinkingConfig')
  if (traits.thinking === 'none') return true
  config['thinkingConfig'] = {
    ...others,
    ...(amount.level === null ? {} : { thinkingLevel: amount.level }),
    ...(amount.budget === null ? {} : { thinkingBudget: amount.budget }),
  }
  return true
}

interface Amount {
  readonly level: string | null
  readonly budget: unknown
}

/** A budget below 0 leaves it to the model. */
function amountOf(level: string | null, budget: number | null, traits: GeminiTraits, maxTokens: number): Amount {
  const { thinking, levels, budgetMin, budgetMax, canStopThinking } = traits
  switch (thinking) {
    case 'none':
    case 'shown':
      return { level: null, budget: null }
    case 'level': {
      // The provider still accepts budgets, but none of 0.
      const wished = budget === 0 ? (levels[0] ?? null) : level
      const known = wished === null || levels.includes(wished)
      const nearest = EFFORT_LEVELS.get(wished ?? '')?.find((name) => levels.includes(name)) ?? null
      return { level: known ? wished : nearest, budget: budget === 0 ? null : budget }
    }
    case 'budget': {
      const asked = budget ?? effortTokens(level, maxTokens)
      if (asked === null || asked < 0) return { level: null, budget: asked }
      if (asked === 0) return { level: null, budget: canStopThinking ? 0 : budgetMin }
      return { level: null, budget: Math.min(budgetMax, Math.max(budgetMin, asked)) }
    }
  }
}

function outputMax(config: JsonObject): number {
  const { maxOutputTokens } = config
  return typeof maxOutputTokens === 'number' ? maxOutputTokens : MAX_TOKENS_DEFAULT
}

/** A call that another model made, or whose signature is another provider's, has none that this one would read. */
function signedContent(content: unknown): unknown {
  const turn = objectOf(content)
  const parts = listOf(turn?.['parts']).map((part) => objectOf(part) ?? {})
  const calls = parts.filter((part) => member(part, 'functionCall') !== undefined)
  const [first] = calls
  if (turn?.['role'] !== 'model' || first === undefined) return content
  if (calls.some((part) => member(part, 'thoughtSignature') !== undefined)) return content
  const own = parts.map((part) => (part === first ? { ...part, thoughtSignature: NO_SIGNATURE } : part))
  return { ...turn, parts: own }
}

function isPrefilled(content: unknown): boolean {
  const turn = objectOf(content)
  const last = objectOf(listOf(turn?.['parts']).at(-1))
  return turn?.['role'] === 'model' && (textOf(last?.['text']) ?? '').trim() !== ''
}
