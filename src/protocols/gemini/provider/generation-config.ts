import type { ChatRequest } from '../../../kinds/chat/request.ts'
import { type ChatCall, type TakesParameter, UnsendableError } from '../../ports/call.ts'
import { objectOf, textOf } from '../../wire/raw-json.ts'
import { effortTokens, reasoningWish, type ReasoningWish } from '../../answers/reasoning-wish.ts'
import type { GeminiTraits } from '../../models/gemini-traits.ts'
import type { JsonObject } from '../../../base/json-text.ts'

/** Levels for each effort, the preferred one first: not every model has all of them. */
export const EFFORT_LEVELS: ReadonlyMap<string, readonly string[]> = new Map([
  ['minimal', ['minimal', 'low']],
  ['low', ['low']],
  ['medium', ['medium', 'high']],
  ['high', ['high']],
  ['xhigh', ['high']],
  ['max', ['high']],
])
/** The budget with which the model decides itself. */
const BUDGET_DYNAMIC = -1

/** For a model without a known maximum: every thinking model can answer with this many tokens. */
export const MAX_TOKENS_DEFAULT = 65_536
/** Parameters that newer models ignore or refuse, with their names in this protocol. */
const NUMBERS: readonly (readonly [string, string])[] = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty'],
]
/** The provider sends bare samples, and we do not convert sound. */
const AUDIO_FORMAT = 'pcm16'

export function generationConfigOf(call: ChatCall, takes: TakesParameter, traits: GeminiTraits): JsonObject {
  const { request, endpoint, sendMaxTokens } = call
  const { parameters } = request
  const thinks = takes('reasoning') || takes('reasoning_effort') || takes('include_reasoning')
  const thinkingConfig = thinks
    ? thinkingConfigOf(parameters, traits, sendMaxTokens ?? endpoint.maxCompletionTokens ?? MAX_TOKENS_DEFAULT)
    : null
  return {
    ...(sendMaxTokens === null ? {} : { maxOutputTokens: sendMaxTokens }),
    ...(request.n > 1 ? { candidateCount: request.n } : {}),
    ...samplingFields(parameters, takes, traits),
    ...logprobFields(parameters, takes),
    ...formatFields(request.responseFormat, takes),
    ...modalityFields(parameters, takes),
    ...imageFields(parameters, takes),
    ...(thinkingConfig === null ? {} : { thinkingConfig }),
  }
}

/** Whether the request asks for an answer in JSON. */
export function wantsJson({ responseFormat }: ChatCall['request'], takes: TakesParameter): boolean {
  return responseFormat !== null && (takes('response_format') || takes('structured_outputs'))
}

function samplingFields(parameters: JsonObject, takes: TakesParameter, { samples }: GeminiTraits): JsonObject {
  const fields: Record<string, unknown> = {}
  const { top_k: topK, seed, stop } = parameters
  if (samples) {
    for (const [name, own] of NUMBERS) if (parameters[name] !== undefined && takes(name)) fields[own] = parameters[name]
    if (typeof topK === 'number' && takes('top_k')) fields['topK'] = Math.floor(topK)
  }
  // Seeds have 32 bits here: of a longer seed the lower half is sent, so that the same seed still gives the same
  // answer.
  if (typeof seed === 'number' && Number.isSafeInteger(seed) && takes('seed')) fields['seed'] = seed | 0
  if (stop !== undefined && takes('stop')) fields['stopSequences'] = Array.isArray(stop) ? stop : [stop]
  return fields
}

function logprobFields(parameters: JsonObject, takes: TakesParameter): JsonObject {
  if (parameters['logprobs'] !== true || !takes('logprobs')) return {}
  const top = parameters['top_logprobs']
  return {
    responseLogprobs: true,
    ...(typeof top === 'number' && top > 0 && takes('top_logprobs') ? { logprobs: top } : {}),
  }
}

function formatFields(format: ChatCall['request']['responseFormat'], takes: TakesParameter): JsonObject {
  if (format === null || (!takes('response_format') && !takes('structured_outputs'))) return {}
  const schema = objectOf(objectOf(format['json_schema'])?.['schema'])
  return { responseMimeType: 'application/json', ...(schema === null ? {} : { responseJsonSchema: schema }) }
}

function modalityFields(parameters: JsonObject, takes: TakesParameter): JsonObject {
  const { modalities } = parameters
  if (!Array.isArray(modalities) || modalities.length === 0 || !takes('modalities')) return {}
  const names = modalities.map((name) => (textOf(name) ?? '').toUpperCase())
  const unknown = names.find((name) => !['TEXT', 'IMAGE', 'AUDIO'].includes(name))
  if (unknown !== undefined) throw new UnsendableError('modalities: this provider knows text, image and audio')
  return {
    responseModalities: names,
    ...(names.includes('AUDIO') && takes('audio') ? speechFields(objectOf(parameters['audio'])) : {}),
  }
}

/** The shape and resolution of pictures, by OpenRouter's names. */
function imageFields(parameters: JsonObject, takes: TakesParameter): JsonObject {
  const config = takes('image_config') || takes('modalities') ? objectOf(parameters['image_config']) : null
  const aspectRatio = textOf(config?.['aspect_ratio'])
  const imageSize = textOf(config?.['image_size'])
  if (aspectRatio === null && imageSize === null) return {}
  return {
    imageConfig: { ...(aspectRatio === null ? {} : { aspectRatio }), ...(imageSize === null ? {} : { imageSize }) },
  }
}

function speechFields(audio: JsonObject | null): JsonObject {
  const format = textOf(audio?.['format'])
  if (format !== null && format !== AUDIO_FORMAT)
    throw new UnsendableError(`audio.format: this provider gives audio as '${AUDIO_FORMAT}' only`)
  const voice = textOf(audio?.['voice'])
  return voice === null ? {} : { speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } } }
}

type Parameters = ChatRequest['parameters']

/**
 * The `thinkingConfig` of a request whose answer has `maxTokens` for thoughts and text together; null = none is sent.
 */
function thinkingConfigOf(
  parameters: Parameters,
  traits: GeminiTraits,
  maxTokens: number,
): Readonly<Record<string, unknown>> | null {
  const wish = reasoningWish(parameters)
  if (wish.thinks === null || traits.thinking === 'none') return null
  const amount = amountOf(wish, traits, maxTokens)
  const shown = wish.thinks && !wish.isHidden ? { includeThoughts: true } : {}
  const config = { ...shown, ...amount }
  return Object.keys(config).length === 0 ? null : config
}

/** A budget and a level exclude each other. Models that cannot stop thinking get their minimum. */
function amountOf(
  { thinks, effort, budget }: ReasoningWish,
  traits: GeminiTraits,
  maxTokens: number,
): Readonly<Record<string, unknown>> {
  if (traits.thinking === 'shown') return {}
  if (traits.thinking === 'level') {
    if (thinks === false) return { thinkingLevel: traits.levels[0] }
    // The provider still accepts budgets, which clients that count in tokens send.
    if (budget !== null) return { thinkingBudget: budget }
    const level = EFFORT_LEVELS.get(effort ?? '')?.find((name) => traits.levels.includes(name))
    return level === undefined ? {} : { thinkingLevel: level }
  }
  if (thinks === false) return { thinkingBudget: traits.canStopThinking ? 0 : traits.budgetMin }
  const asked = budget ?? effortTokens(effort, maxTokens)
  return {
    thinkingBudget: asked === null ? BUDGET_DYNAMIC : Math.min(traits.budgetMax, Math.max(traits.budgetMin, asked)),
  }
}
