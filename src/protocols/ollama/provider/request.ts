import type { ChatRequest, ChatTool, ChatMessage, ChatPart } from '../../../kinds/chat/request.ts'
import {
  takesOf,
  type ChatCall,
  type CompletionsCall,
  type TakesParameter,
  UnsendableError,
  type JsonRequest,
  refuseSeveral,
} from '../../ports/call.ts'
import { objectOf } from '../../wire/raw-json.ts'
import { reasoningWish } from '../../answers/reasoning-wish.ts'
import type { JsonObject } from '../../../base/json-text.ts'
import { bearer } from '../../../base/bearer.ts'
import { dataOf, type MediaUrl } from '../../../kinds/fields/media.ts'
import { toolInput } from '../../answers/tool-calls.ts'

/** Our names of parameters that go into `options` unchanged. */
const NUMBERS: readonly (readonly [ours: string, theirs: string])[] = [
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['min_p', 'min_p'],
  ['repetition_penalty', 'repeat_penalty'],
  ['frequency_penalty', 'frequency_penalty'],
  ['presence_penalty', 'presence_penalty'],
]
/** Levels of the models that have levels; other models read any level as yes. */
const EFFORT_LEVELS: ReadonlyMap<string, string> = new Map([
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'medium'],
  ['high', 'high'],
  ['xhigh', 'high'],
  ['max', 'high'],
])

export function ollamaRequest(call: ChatCall): JsonRequest {
  return {
    path: '/api/chat',
    body: bodyOf(call),
    headers: bearer(call.apiKey),
  }
}

/** One prompt, unchanged. */
export function generateRequest({
  endpoint,
  apiKey,
  request: { chat, suffix },
  prompts,
  sendMaxTokens,
}: CompletionsCall): JsonRequest {
  refuseSeveral(chat)
  const takes = takesOf(endpoint)
  const options = {
    ...(sendMaxTokens === null ? {} : { num_predict: sendMaxTokens }),
    ...optionFields(chat.parameters, takes),
  }
  const body = {
    model: endpoint.upstreamModel,
    prompt: prompts[0] ?? '',
    stream: chat.stream,
    ...(suffix === null ? {} : { suffix }),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  }
  return { path: '/api/generate', body, headers: bearer(apiKey) }
}

function bodyOf({ endpoint, request, sendMaxTokens }: ChatCall): JsonObject {
  refuseSeveral(request)
  const takes = takesOf(endpoint)
  const options = {
    ...(sendMaxTokens === null ? {} : { num_predict: sendMaxTokens }),
    ...optionFields(request.parameters, takes),
  }
  return {
    model: endpoint.upstreamModel,
    messages: ollamaMessages(request.messages, endpoint.supportedParameters?.includes('reasoning') === true),
    // Its default would be true.
    stream: request.stream,
    ...(takes('tools') ? toolFields(request) : {}),
    ...(takes('response_format') || takes('structured_outputs') ? formatFields(request.responseFormat) : {}),
    ...(takes('reasoning') || takes('reasoning_effort') ? thinkFields(request.parameters) : {}),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  }
}

/** Ollama has no choice of tools. No choice is expressed by sending no tools, a named tool by sending only that one. */
function toolFields({ tools, toolChoice }: ChatRequest): JsonObject {
  if (tools === null || toolChoice === 'none') return {}
  const named = toolChoice !== null && typeof toolChoice !== 'string' ? toolChoice.function.name : null
  const offered = named === null ? tools : tools.filter(({ function: { name } }) => name === named)
  if (offered.length === 0) throw new UnsendableError('tool_choice: names none of the tools')
  return { tools: offered.map(toolOf) }
}

function toolOf({ function: { name, description, parameters = {} } }: ChatTool): JsonObject {
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: Object.keys(parameters).length === 0 ? { type: 'object', properties: {} } : parameters,
    },
  }
}

function formatFields(format: ChatRequest['responseFormat']): JsonObject {
  return format === null ? {} : { format: objectOf(objectOf(format['json_schema'])?.['schema']) ?? 'json' }
}

function thinkFields(parameters: ChatRequest['parameters']): JsonObject {
  const { thinks, effort } = reasoningWish(parameters)
  return thinks === null ? {} : { think: thinks ? (EFFORT_LEVELS.get(effort ?? '') ?? true) : false }
}

function optionFields(parameters: ChatRequest['parameters'], takes: TakesParameter): JsonObject {
  const options: Record<string, unknown> = {}
  for (const [ours, theirs] of NUMBERS) {
    const value = parameters[ours]
    if (typeof value === 'number' && takes(ours)) options[theirs] = value
  }
  const { top_k: topK, seed, stop } = parameters
  if (typeof topK === 'number' && takes('top_k')) options['top_k'] = Math.round(topK)
  // Other seeds would be refused, and no answer depends on one.
  if (Number.isSafeInteger(seed) && takes('seed')) options['seed'] = seed
  if (stop !== undefined && takes('stop')) options['stop'] = Array.isArray(stop) ? stop : [stop]
  return options
}

interface OllamaContent {
  readonly content: string
  readonly images?: readonly string[]
}

/**
 * The conversation in Ollama's form, where text and images are separate. `takesReasoning`: the model reads its earlier
 * thinking.
 */
function ollamaMessages(messages: readonly ChatMessage[], takesReasoning: boolean): readonly JsonObject[] {
  const toolNames = new Map<string, string>()
  return messages.map((message, index) => {
    const path = `messages[${index}]`
    const said = contentOf(message.content, path)
    switch (message.role) {
      case 'system':
      case 'developer':
        return { role: 'system', ...said }
      case 'user':
        return { role: 'user', ...said }
      case 'tool':
        return { role: 'tool', ...said, ...toolReference(message, toolNames) }
      case 'assistant':
        for (const {
          id,
          function: { name },
        } of message.tool_calls ?? [])
          toolNames.set(id, name)
        return assistantMessage(message, said, path, takesReasoning)
    }
  })
}

/** Templates identify a result by its tool's name; only newer ones know the call's id. */
function toolReference(
  { tool_call_id: id = '', name: given }: ChatMessage,
  toolNames: ReadonlyMap<string, string>,
): JsonObject {
  const name = toolNames.get(id) ?? given
  return { ...(name === undefined ? {} : { tool_name: name }), tool_call_id: id }
}

function assistantMessage(
  { refusal = '', reasoning = '', tool_calls: calls = [] }: ChatMessage,
  said: OllamaContent,
  path: string,
  takesReasoning: boolean,
): JsonObject {
  return {
    role: 'assistant',
    ...said,
    ...(said.content === '' && refusal !== '' ? { content: refusal } : {}),
    ...(takesReasoning && reasoning !== '' ? { thinking: reasoning } : {}),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, function: called }, index) => ({
            id,
            function: {
              name: called.name,
              arguments: toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`),
            },
          })),
        }),
  }
}

function contentOf(content: ChatMessage['content'], path: string): OllamaContent {
  if (content === null || typeof content === 'string') return { content: content ?? '' }
  const texts: string[] = []
  const images: string[] = []
  for (const [index, part] of content.entries()) addPart(part, `${path}.content[${index}]`, texts, images)
  return { content: texts.join('\n'), ...(images.length === 0 ? {} : { images }) }
}

function addPart(part: ChatPart, path: string, texts: string[], images: string[]): void {
  switch (part.type) {
    case 'text':
      texts.push(part.text)
      return
    case 'refusal':
      texts.push(part.refusal)
      return
    case 'image_url':
      images.push(imageBytes(part.image_url.url, path))
      return
    case 'input_audio':
    case 'audio_url':
    case 'file':
    case 'video_url':
      throw new UnsendableError(`${path}: this provider takes no part of type ${part.type}`)
  }
}

/** Ollama accepts only base64 data: the part of a data URL after its comma. */
function imageBytes(url: MediaUrl<'image'>, path: string): string {
  const found = dataOf(url)
  if (found === null)
    throw new UnsendableError(
      `${path}.image_url.url: this provider fetches no addresses. Send the image as a data URL in base64`,
    )
  return found.data
}
