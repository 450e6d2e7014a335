import type { ChatRequest, ChatTool } from '../../../kinds/chat/request.ts'
import type { ChatCall } from '../../ports/call.ts'
import { UnsendableError, type JsonRequest } from '../../ports/upstream-request.ts'
import { conversationOf } from '../../../providers/gemini/contents.ts'
import { generationConfigOf, wantsJson } from './generation-config.ts'
import { traitsOf } from '../../../providers/gemini/model-traits.ts'
import type { JsonObject } from '../../../lib/json-object.ts'

/** The prefix of Google Cloud's access tokens, which Vertex AI accepts beside API keys. */
const ACCESS_TOKEN = 'ya29.'

export function geminiRequest(call: ChatCall): JsonRequest {
  return {
    path: generatePath(call.endpoint.upstreamModel, call.request.stream),
    body: bodyOf(call),
    headers: geminiCredentials(call.apiKey),
  }
}

export function generatePath(upstreamModel: string, streaming: boolean): string {
  return `${geminiPath(geminiResource(upstreamModel))}:${streaming ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
}

/** A bare name is in the collection `models`; others, such as `tunedModels/x`, name their collection. */
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
  const supported = endpoint.supportedParameters === null ? null : new Set(endpoint.supportedParameters)
  const takes = (name: string): boolean => supported === null || supported.has(name)
  const traits = traitsOf(endpoint.upstreamModel)
  const { system, contents } = conversationOf(request.messages, traits.needsSignatures)
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

/** `tools` and `toolConfig`. The model decides on parallel calls. */
function toolFields(tools: readonly ChatTool[] | null, choice: ChatRequest['toolChoice']): JsonObject {
  if (tools === null) return {}
  return {
    tools: [{ functionDeclarations: tools.map(declarationOf) }],
    ...(choice === null ? {} : { toolConfig: { functionCallingConfig: callingConfig(choice) } }),
  }
}

/** A function without parameters is declared without a schema; other schemas pass unchanged. */
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
