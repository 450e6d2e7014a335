import type { Endpoint } from '../../catalog/catalog.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { isPrefilled, PREFILL } from './turns.ts'
import { traitRow as row, TraitTable } from '../../catalog/trait-table.ts'

/** Parameters that newer models ignore or refuse. */
const SAMPLING = ['top_k', 'temperature', 'top_p', 'frequency_penalty', 'presence_penalty']

/** The unit by which searches are billed: each distinct query, or each request that searched. */
export type SearchBilling = 'queries' | 'request'

/** Differences between models that a request must know. */
export interface GeminiTraits {
  /** How thinking is requested; `shown` = the model decides on it itself, and can only be asked to show it. */
  readonly thinking: 'none' | 'shown' | 'budget' | 'level'
  /** The range of a thinking budget, in tokens. */
  readonly budgetMin: number
  readonly budgetMax: number
  readonly canStopThinking: boolean
  /** Thinking levels in ascending order. */
  readonly levels: readonly string[]
  /** Whether tool calls of the current turn must have their signatures. */
  readonly needsSignatures: boolean
  /** Whether tools may be combined with an answer in JSON. */
  readonly takesToolsWithJson: boolean
  readonly billsSearch: SearchBilling
  /** Whether it accepts sampling parameters; else it ignores temperature, top_p and top_k, and refuses penalties. */
  readonly samples: boolean
  /** Whether a request may contain the beginning of the answer. */
  readonly takesPrefill: boolean
}

const PLAIN: GeminiTraits = {
  thinking: 'none',
  budgetMin: 0,
  budgetMax: 0,
  canStopThinking: false,
  levels: [],
  needsSignatures: false,
  takesToolsWithJson: false,
  billsSearch: 'request',
  samples: true,
  takesPrefill: true,
}
const FLASH_2_5: GeminiTraits = {
  ...PLAIN,
  thinking: 'budget',
  budgetMin: 1,
  budgetMax: 24_576,
  canStopThinking: true,
}
const PRO_2_5: GeminiTraits = { ...PLAIN, thinking: 'budget', budgetMin: 128, budgetMax: 32_768 }
const V3: GeminiTraits = { ...PLAIN, takesToolsWithJson: true, billsSearch: 'queries' }
const FLASH_3: GeminiTraits = {
  ...V3,
  thinking: 'level',
  levels: ['minimal', 'low', 'medium', 'high'],
  needsSignatures: true,
}
const PRO_3: GeminiTraits = { ...FLASH_3, levels: ['low', 'high'] }
const PRO_3_1: GeminiTraits = { ...FLASH_3, levels: ['low', 'medium', 'high'] }
const CLOSED = { samples: false, takesPrefill: false }

const DOCS = 'https://ai.google.dev/gemini-api/docs'
const CLOUD = 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini'
const THINKING = { source: `${DOCS}/thinking`, date: '2026-11-27' }
const IMAGES = { source: `${DOCS}/image-generation`, date: '2026-11-27' }
const MODELS = { source: `${DOCS}/models`, date: '2026-11-27' }
const V3_5_LITE = { source: `${CLOUD}/3-5-flash-lite`, date: '2026-11-27' }
const V3_6 = { source: `${CLOUD}/3-6-flash`, date: '2026-11-27' }

export const GEMINI_TRAITS = new TraitTable<GeminiTraits>([
  ...['tts', 'live', 'native audio', 'computer use', 'embedding', 'robotics'].map((purpose) =>
    row(`gemini ${purpose}`, '1', PLAIN, MODELS),
  ),
  row('gemini image', '1', PLAIN, IMAGES),
  row('gemini image', '3', { ...V3, thinking: 'shown' }, IMAGES),
  row('gemini pro', '1', PLAIN, MODELS),
  row('gemini pro', '2.5', PRO_2_5, THINKING),
  row('gemini pro', '3', PRO_3, THINKING),
  row('gemini pro', '3.1', PRO_3_1, THINKING),
  // No page describes a newer model yet, so it has the newest traits.
  row('gemini pro', '3.2', { ...PRO_3_1, ...CLOSED }, V3_6),
  row('gemini flash lite', '1', PLAIN, MODELS),
  row('gemini flash lite', '2.5', { ...FLASH_2_5, budgetMin: 512 }, THINKING),
  row('gemini flash lite', '3', FLASH_3, THINKING),
  row('gemini flash lite', '3.5', { ...FLASH_3, ...CLOSED }, V3_5_LITE),
  row('gemini flash', '1', PLAIN, MODELS),
  row('gemini flash', '2.5', FLASH_2_5, THINKING),
  row('gemini flash', '3', FLASH_3, THINKING),
  row('gemini flash', '3.6', { ...FLASH_3, ...CLOSED }, V3_6),
  row('gemini', '1', PLAIN, MODELS),
  row('gemini', '3', { ...PRO_3_1, ...CLOSED }, V3_6),
])

/**
 * The signer of a model's signatures: null = the Gemini API, whose signatures have no mark, else only this provider. No
 * page says that Vertex AI and the Gemini API read each other's signatures.
 */
export function signerOf({ provider }: Pick<Endpoint, 'provider'>): string | null {
  return isVertex(provider) ? provider.slug : null
}

/** Vertex AI, by its addresses. */
export function isVertex({ baseUrl }: Endpoint['provider']): boolean {
  return baseUrl.includes('/publishers/')
}

/** The traits by the name: a name outside Google's families, such as that of a tuned model, counts as a plain model. */
export function traitsOf(upstreamModel: string): GeminiTraits {
  return GEMINI_TRAITS.of(upstreamModel) ?? PLAIN
}

/** Parts of a request that a model does not get unchanged, for `Adapter.leaves`. */
export function geminiLeaves({ messages }: ChatRequest, { thinking, samples, takesPrefill }: GeminiTraits): string[] {
  return [
    ...(thinking === 'none' ? ['reasoning', 'reasoning_effort'] : []),
    ...(samples ? [] : SAMPLING),
    ...(!takesPrefill && isPrefilled(messages) ? [PREFILL] : []),
  ]
}

/** OpenRouter's name for Gemini's reasoning details, by which clients and we recognise them. */
export const GEMINI_REASONING = 'google-gemini-v1'

/** A thought signature as a reasoning detail; `toolCallId` null = it belongs to the text. */
export function signatureDetail(
  data: string,
  toolCallId: string | null,
  index: number,
): Readonly<Record<string, unknown>> {
  return {
    type: 'reasoning.encrypted',
    data,
    ...(toolCallId === null ? {} : { id: toolCallId }),
    format: GEMINI_REASONING,
    index,
  }
}
