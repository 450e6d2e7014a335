import type { JsonObject } from '../../../base/json-text.ts'
import type { Endpoint } from '../../../catalog/catalog.ts'
import type { ChatRequest, ChatTool } from '../../../kinds/chat/request.ts'
import { type ReasoningWish, effortTokens, reasoningWish } from '../../answers/reasoning-wish.ts'
import { type GeminiTraits, isVertex, signerOf, traitsOf } from '../../models/gemini-traits.ts'
import { type ChatCall, type JsonRequest, type TakesParameter, UnsendableError, takesOf } from '../../ports/call.ts'
import { objectOf, textOf } from '../../wire/raw-json.ts'
import { conversationOf } from './contents.ts'

/** The prefix of Google Cloud's access tokens, which Vertex AI accepts besides API keys. */
const ACCESS_TOKEN = 'ya29.'
const VERTEX_TIER_HEADER = 'x-vertex-ai-llm-shared-request-type'

export function geminiRequest(call: ChatCall): JsonRequest {
  const { endpoint, request, apiKey } = call
  return {
    path: generatePath(endpoint.upstreamModel, request.stream),
    ...withTier(endpoint, request.parameters['service_tier'], bodyOf(call), geminiCredentials(apiKey)),
  }
}

/** The request with the tier that has a price: Vertex AI is asked by a header, the Gemini API by a field. */
export function withTier(
  { provider }: Pick<Endpoint, 'provider'>,
  tier: unknown,
  body: JsonObject,
  headers: Readonly<Record<string, string>>,
): Pick<JsonRequest, 'body' | 'headers'> {
  if (typeof tier !== 'string') return { body, headers }
  return isVertex(provider)
    ? { body, headers: { ...headers, [VERTEX_TIER_HEADER]: tier } }
    : { body: { ...body, service_tier: tier }, headers }
}

export function generatePath(upstreamModel: string, streaming: boolean): string {
  return `${geminiPath(geminiResource(upstreamModel))}:${streaming ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
}

/** The path of a model. A bare name is in `models`; others, such as `tunedModels/x`, name their collection. */
export function geminiResource(upstreamModel: string): string {
  return upstreamModel.includes('/') ? upstreamModel : `models/${upstreamModel}`
}

export function geminiPath(resource: string): string {
  return `/${resource.split('/').map(encodeURIComponent).join('/')}`
}

export function geminiCredentials(apiKey: string | null): Readonly<Record<string, string>> {
  if (apiKey === null) return {}
  return apiKey.startsWith(ACCESS_TOKEN) ? { authorization: `Bearer ${apiKey}` } : { 'x-goog-api-key': apiKey }
}

export function isSearching({ endpoint, request }: ChatCall): boolean {
  const isListed = endpoint.supportedParameters?.includes('web_search_options') === true
  return isListed && request.parameters['web_search_options'] !== undefined
}

function bodyOf(call: ChatCall): Record<string, unknown> {
  const { endpoint, request } = call
  const takes = takesOf(endpoint)
  const traits = traitsOf(endpoint.upstreamModel)
  const { system, contents } = conversationOf(request.messages, traits, signerOf(endpoint))
  const choice = takes('tool_choice') ? request.toolChoice : null
  let tools = takes('tools') ? request.tools : null
  if (tools !== null && !traits.takesToolsWithJson && wantsJson(request, takes)) {
    if (choice !== 'none')
      throw new UnsendableError('response_format: this model answers in JSON only without tools. Send one or the other')
    tools = null
  }
  if (isSearching(call) && tools !== null)
    throw new UnsendableError('web_search_options: this model searches only without tools. Send one or the other')
  const generationConfig = generationConfigOf(call, takes, traits)
  return {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    contents,
    ...(isSearching(call) ? { tools: [{ googleSearch: {} }] } : toolFields(tools, choice)),
    ...(Object.keys(generationConfig).length === 0 ? {} : { generationConfig }),
  }
}

/** `tools` and `toolConfig`. The model itself decides whether calls are parallel. */
function toolFields(tools: readonly ChatTool[] | null, choice: ChatRequest['toolChoice']): JsonObject {
  if (tools === null) return {}
  return {
    tools: [{ functionDeclarations: tools.map(declarationOf) }],
    ...(choice === null ? {} : { toolConfig: { functionCallingConfig: callingConfig(choice) } }),
  }
}

/** A declaration: a function without parameters is declared without a schema; other schemas pass unchanged. */
function declarationOf({ function: { name, description, parameters = {} } }: ChatTool): JsonObject {
  const schema =
    Object.keys(parameters).length === 0
      ? {}
      : { parametersJsonSchema: parameters['type'] === undefined ? { type: 'object', ...parameters } : parameters }
  return { name, ...(description === undefined ? {} : { description }), ...schema }
}

function callingConfig(choice: NonNullable<ChatRequest['toolChoice']>): JsonObject {
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [choice.function.name] }
  return { mode: choice === 'none' ? 'NONE' : choice === 'required' ? 'ANY' : 'AUTO' }
}

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

function generationConfigOf(call: ChatCall, takes: TakesParameter, traits: GeminiTraits): JsonObject {
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
function wantsJson({ responseFormat }: ChatCall['request'], takes: TakesParameter): boolean {
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
