import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { ChatRequest, ChatTool, ChatMessage, ChatPart } from '../../kinds/chat/request.ts'
import { given } from '../../base/objects.ts'
import { chatParameters } from '../ports/adapter.ts'
import { ownName } from './sdk-packages.ts'
import { type ChatCall, UnsendableError } from '../ports/call.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'
import { toolInput } from '../answers/tool-calls.ts'
import { dataOf, type MediaUrl } from '../../kinds/fields/media.ts'

/** Patterns of the addresses that a model fetches itself, by media type such as `image/*`. */
type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>

const AUDIO_FORMAT = /^[a-z0-9.+-]{1,32}$/i
const AUDIO_TYPES: ReadonlyMap<string, string> = new Map([
  ['mp3', 'audio/mpeg'],
  ['m4a', 'audio/mp4'],
  ['pcm16', 'audio/L16;rate=24000'],
])

/** An image, audio, video or document of a message. */
function mediaPart(
  part: Exclude<ChatPart, { type: 'text' | 'refusal' }>,
  urls: SupportedUrls,
  path: string,
): LanguageModelV4FilePart {
  switch (part.type) {
    case 'image_url':
      return filePart<'image'>(part.image_url.url, 'image/*', urls, `${path}.image_url.url`)
    case 'video_url':
      return filePart<'video'>(part.video_url.url, 'video/*', urls, `${path}.video_url.url`)
    case 'audio_url':
      return filePart<'audio'>(part.audio_url.url, 'audio/*', urls, `${path}.file.file_data`)
    case 'file': {
      const { filename, file_data: data } = part.file
      return {
        ...filePart(data, 'application/pdf', urls, `${path}.file.file_data`),
        ...(filename === undefined ? {} : { filename }),
      }
    }
    case 'input_audio': {
      const { data, format } = part.input_audio
      if (!AUDIO_FORMAT.test(format))
        throw new UnsendableError(
          `${path}.input_audio.format: must be the name of an audio format, such as 'wav' or 'mp3'`,
        )
      return {
        type: 'file',
        mediaType: AUDIO_TYPES.get(format.toLowerCase()) ?? `audio/${format.toLowerCase()}`,
        data: { type: 'data', data },
      }
    }
  }
}

/** `usual` is the media type of a file that names none. */
function filePart<Kind extends string>(
  address: MediaUrl<Kind>,
  usual: `${Kind}/${string}`,
  urls: SupportedUrls,
  path: string,
): LanguageModelV4FilePart & { readonly mediaType: `${Kind}/${string}` }
function filePart(address: string, usual: string, urls: SupportedUrls, path: string): LanguageModelV4FilePart
function filePart(address: string, usual: string, urls: SupportedUrls, path: string): LanguageModelV4FilePart {
  const found = dataOf(address)
  if (found !== null)
    return { type: 'file', mediaType: found.mediaType || usual, data: { type: 'data', data: found.data } }
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    throw new UnsendableError(`${path}: must be an http or https address or a data URL`)
  if (!isTaken(address, usual, urls))
    throw new UnsendableError(`${path}: this provider takes no addresses of such files; send a data URL`)
  return { type: 'file', mediaType: usual, data: { type: 'url', url: new URL(address) } }
}

function isTaken(address: string, mediaType: string, urls: SupportedUrls): boolean {
  const lower = address.toLowerCase()
  return Object.entries(urls).some(([pattern, addresses]) => {
    const prefix = pattern === '*' || pattern === '*/*' ? '' : pattern.toLowerCase().replace(/\*$/, '')
    return mediaType.startsWith(prefix) && addresses.some((regex) => regex.test(lower))
  })
}

interface PromptRules {
  readonly urls: SupportedUrls
  /** Whether earlier reasoning is sent back. */
  readonly reasoning: boolean
}

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
/** The tool's name in a result whose call is not in the conversation. */
const TOOL_UNKNOWN = 'tool'

/** The conversation in the AI SDK's form, in which the results of consecutive calls are one message. */
export function sdkPrompt(messages: readonly ChatMessage[], rules: PromptRules): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = []
  const toolNames = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    const { role, content } = message
    if (role === 'system' || role === 'developer') prompt.push({ role: 'system', content: plainText(content, path) })
    else if (role === 'user') prompt.push({ role: 'user', content: parts(content, rules, path) })
    else if (role === 'assistant') {
      for (const { id, function: called } of message.tool_calls ?? []) toolNames.set(id, called.name)
      prompt.push({ role: 'assistant', content: assistantContent(message, rules, path) })
    } else {
      const result = toolResult(message, toolNames, rules, path)
      const last = prompt.at(-1)
      if (last?.role === 'tool') last.content.push(result)
      else prompt.push({ role: 'tool', content: [result] })
    }
  }
  return prompt
}

function plainText(content: ChatMessage['content'], path: string): string {
  if (content === null || typeof content === 'string') return content ?? ''
  const texts = content.map((part) => {
    if (part.type !== 'text')
      throw new UnsendableError(`${path}.content: a system message can only hold text at this provider`)
    return part.text
  })
  return texts.join('\n')
}

function parts(
  content: ChatMessage['content'],
  { urls }: PromptRules,
  path: string,
): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  if (content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part, index) => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    return part.type === 'refusal'
      ? { type: 'text', text: part.refusal }
      : mediaPart(part, urls, `${path}.content[${index}]`)
  })
}

function assistantContent(message: ChatMessage, rules: PromptRules, path: string): AssistantContent {
  const { reasoning, content, refusal, tool_calls: calls = [] } = message
  const said: AssistantContent =
    rules.reasoning && reasoning !== undefined && reasoning !== '' ? [{ type: 'reasoning', text: reasoning }] : []
  said.push(...parts(content === '' ? null : content, rules, path))
  if (refusal !== undefined && refusal !== '') said.push({ type: 'text', text: refusal })
  for (const [index, { id, function: called }] of calls.entries()) {
    said.push({
      type: 'tool-call',
      toolCallId: id,
      toolName: called.name,
      input: toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`),
    })
  }
  return said
}

function toolResult(
  message: ChatMessage,
  toolNames: ReadonlyMap<string, string>,
  rules: PromptRules,
  path: string,
): LanguageModelV4ToolResultPart {
  const toolCallId = message.tool_call_id ?? ''
  const found = parts(message.content, rules, path)
  const texts = found.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return {
    type: 'tool-result',
    toolCallId,
    toolName: toolNames.get(toolCallId) ?? message.name ?? TOOL_UNKNOWN,
    output:
      texts.length === found.length ? { type: 'text', value: texts.join('\n') } : { type: 'content', value: found },
  }
}

/** Parameters that a call of the AI SDK can carry; a package drops those that its provider lacks. */
export const SDK_PARAMETERS = chatParameters('top_k', 'frequency_penalty', 'presence_penalty', 'seed', 'tool_choice')
const EFFORT_DEFAULT = 'medium'
const EFFORTS: readonly NonNullable<LanguageModelV4CallOptions['reasoning']>[] = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
]

type ToolSchema = LanguageModelV4FunctionTool['inputSchema']

/** Traits of the model that decide the request's form. */
export interface SdkModelTraits {
  readonly urls: SupportedUrls
  readonly name: string
}

/** Reads a model's traits; a package may have to ask its provider for them. */
export async function traitsOf(model: LanguageModelV4): Promise<SdkModelTraits> {
  return { urls: await model.supportedUrls, name: ownName(model) }
}

/** The request in the AI SDK's form. Throws an `UnsendableError` for parts that this form cannot express. */
export function callOptions(call: ChatCall, { urls, name }: SdkModelTraits): LanguageModelV4CallOptions {
  const { endpoint, request, sendMaxTokens } = call
  const { supportedParameters } = endpoint
  const supported = new Set(supportedParameters ?? SDK_PARAMETERS)
  const takes = (parameter: string): boolean => supported.has(parameter)
  const number = (parameter: string): number | undefined => {
    const value = takes(parameter) ? request.parameters[parameter] : undefined
    return typeof value === 'number' ? value : undefined
  }
  const options = sharedOptions(call)
  return {
    // Earlier reasoning is sent only to an endpoint that lists the parameter: most providers refuse it.
    prompt: sdkPrompt(request.messages, { urls, reasoning: supportedParameters !== null && takes('reasoning') }),
    ...given({
      maxOutputTokens: sendMaxTokens,
      temperature: number('temperature'),
      topP: number('top_p'),
      topK: number('top_k'),
      frequencyPenalty: number('frequency_penalty'),
      presencePenalty: number('presence_penalty'),
      seed: number('seed'),
      stopSequences: takes('stop') ? stops(request.parameters['stop']) : undefined,
      reasoning: takes('reasoning') || takes('reasoning_effort') ? effortOf(request.parameters) : undefined,
      responseFormat:
        takes('response_format') || takes('structured_outputs') ? formatOf(request.responseFormat) : undefined,
      tools: takes('tools') ? request.tools?.map(toolOf) : undefined,
      providerOptions: Object.keys(options).length === 0 ? undefined : { [name]: options },
      toolChoice:
        takes('tools') && takes('tool_choice') && request.tools !== null ? choiceOf(request.toolChoice) : undefined,
    }),
  }
}

/** Options that packages share only by convention: each is sent only if the endpoint lists the parameter. */
function sharedOptions({ endpoint, request }: ChatCall): Record<string, boolean> {
  const listed = (name: string): boolean => endpoint.supportedParameters?.includes(name) ?? false
  const parallel = request.parameters['parallel_tool_calls']
  const strict = objectOf(request.responseFormat?.['json_schema'])?.['strict']
  return {
    ...(typeof parallel === 'boolean' && request.tools !== null && listed('parallel_tool_calls')
      ? { parallelToolCalls: parallel }
      : {}),
    ...(typeof strict === 'boolean' && listed('structured_outputs') ? { strictJsonSchema: strict } : {}),
  }
}

function stops(stop: unknown): string[] | undefined {
  if (typeof stop === 'string') return [stop]
  return Array.isArray(stop) ? stop.filter((item) => typeof item === 'string') : undefined
}

/** The SDK knows only efforts: of a budget in tokens, it learns only that the model should think. */
function effortOf(parameters: ChatRequest['parameters']): LanguageModelV4CallOptions['reasoning'] {
  const reasoning = objectOf(parameters['reasoning'])
  if (reasoning?.['enabled'] === false) return 'none'
  const named = textOf(reasoning?.['effort']) ?? textOf(parameters['reasoning_effort'])
  if (named !== null) return EFFORTS.find((effort) => effort === named)
  const { enabled, max_tokens: budget } = reasoning ?? {}
  if (budget === 0) return 'none'
  return enabled === true || typeof budget === 'number' ? EFFORT_DEFAULT : undefined
}

function formatOf(format: ChatRequest['responseFormat']): LanguageModelV4CallOptions['responseFormat'] {
  if (format?.['type'] === 'json_object') return { type: 'json' }
  const described = format?.['type'] === 'json_schema' ? objectOf(format['json_schema']) : null
  const schema = objectOf(described?.['schema'])
  if (described === null || schema === null) return undefined
  const name = textOf(described['name'])
  const description = textOf(described['description'])
  // The schema is the client's JSON; the provider checks it.
  return {
    type: 'json',
    schema: schema as ToolSchema,
    ...(name === null ? {} : { name }),
    ...(description === null ? {} : { description }),
  }
}

function toolOf({ function: { name, description, parameters = {}, strict } }: ChatTool): LanguageModelV4FunctionTool {
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    // The schema is the client's JSON; the provider checks it.
    inputSchema: parameters as ToolSchema,
    ...(strict === undefined ? {} : { strict }),
  }
}

function choiceOf(choice: ChatRequest['toolChoice']): LanguageModelV4ToolChoice | undefined {
  if (choice === null) return undefined
  if (typeof choice === 'object') return { type: 'tool', toolName: choice.function.name }
  return choice === 'none' || choice === 'required' ? { type: choice } : { type: 'auto' }
}
