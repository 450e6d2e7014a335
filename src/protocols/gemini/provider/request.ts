import type { Endpoint } from '../../../catalog/catalog.ts'
import type { ChatRequest, ChatTool } from '../../../kinds/chat/request.ts'
import { takesOf, type ChatCall, UnsendableError, type JsonRequest } from '../../ports/call.ts'
import { conversationOf } from './contents.ts'
import { generationConfigOf, wantsJson } from './generation-config.ts'
import { isVertex, signerOf, traitsOf } from '../../models/gemini-traits.ts'
import type { JsonObject } from '../../../base/json-text.ts'

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
