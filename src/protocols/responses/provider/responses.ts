import type { Adapter } from '../../ports/adapter.ts'
import { askEvents, sseMessages } from '../../upstream/events.ts'
import type { Transport } from '../../wire/transport.ts'
import { ResponsesReader } from './reader.ts'
import type { ChatMessage, ChatRequest, ChatPart } from '../../../kinds/chat/request.ts'
import { hostedUse } from '../hosted-tools.ts'
import type { InputItem } from '../request.ts'
import { SAMPLING_PARAMETERS } from '../../../tables/parameter-table.ts'
import { type ResponsesCall, type JsonRequest, UnsendableError } from '../../ports/call.ts'
import { objectOf, type RawJson } from '../../wire/raw-json.ts'
import { fittedFormat, fittedFunctions, fittedRequest } from '../../openai/provider/quirks.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'
import { ownText } from '../../../kinds/answer/provenance.ts'

/** OpenAI's Responses protocol, which other providers speak too. */
export function openaiResponses(transport: Transport): NonNullable<Adapter['responses']> {
  return (call, sink) =>
    askEvents(
      transport,
      { endpoint: call.endpoint, streaming: call.request.chat.stream },
      {
        request: () => responsesRequest(call),
        reader: () => new ResponsesReader(call.generationId, call.endpoint.provider.slug),
        decoder: sseMessages,
      },
      sink,
    )
}

const PATH = '/responses'
/** Parameters of the protocol itself. */
const OWN: readonly string[] = ['temperature', 'top_p', 'parallel_tool_calls', 'user']
/** Parameters beyond the protocol that some services accept: each is sent if the endpoint lists it. */
const LISTED = SAMPLING_PARAMETERS.filter((name) => !OWN.includes(name))

/**
 * The upstream's body: the typed allow-list of this endpoint's parameters (wire.md D-3.6). The service is asked to
 * store nothing.
 */
export function responsesRequest(call: ResponsesCall): JsonRequest {
  const { endpoint, apiKey, sendMaxTokens } = call
  const { chat, input, format } = fittedResponse(call)
  const { upstreamModel, supportedParameters: supported, provider, dialect } = endpoint
  const takes = (name: string): boolean => supported === null || supported.includes(name)
  const body: Record<string, unknown> = {
    model: upstreamModel,
    input: input.items.flatMap((item) => inputItem(item, supported, provider.slug)),
    store: false,
  }
  if (input.instructions !== null) body['instructions'] = input.instructions
  if (chat.stream) body['stream'] = true
  if (sendMaxTokens !== null) body['max_output_tokens'] = sendMaxTokens
  if (input.tools.length > 0 && takes('tools')) {
    body['tools'] = input.tools.map(withoutNulls)
    if (input.toolChoice !== null && takes('tool_choice')) body['tool_choice'] = input.toolChoice
    // The hold covers the calls of the provider's own tools, so their number needs a bound.
    const callsMax = hostedUse(input)?.callsMax || input.maxToolCalls
    if (callsMax !== null) body['max_tool_calls'] = callsMax
  }
  for (const name of OWN) if (chat.parameters[name] !== undefined && takes(name)) body[name] = chat.parameters[name]
  for (const name of LISTED)
    if (chat.parameters[name] !== undefined && supported !== null && supported.includes(name))
      body[name] = chat.parameters[name]
  // Only the tier that has a price is sent.
  if (chat.parameters['service_tier'] !== undefined) body['service_tier'] = chat.parameters['service_tier']
  const text = textOf(chat, format, takes)
  if (Object.keys(text).length > 0) body['text'] = text
  const reasoning = reasoningOf(chat.parameters, provider.dialect.reasoning === 'object')
  if (Object.keys(reasoning).length > 0 && (takes('reasoning') || takes('reasoning_effort')))
    body['reasoning'] = reasoning
  for (const [name, value] of Object.entries(dialect.fixed ?? {})) {
    if (value === null) delete body[name]
    else if (OWN.includes(name) || LISTED.some((listed) => listed === name)) body[name] = value
  }
  if (input.include.length > 0) body['include'] = input.include
  for (const [name, value] of Object.entries(input.passed))
    if (takes(name) && (chat.stream || name !== 'stream_options')) body[name] = value
  return { path: PATH + provider.dialect.query, body, headers: keyHeaders(provider.dialect, apiKey) }
}

/** The request in the form that the service and its model accept, with the quirks of chat that it shares. */
function fittedResponse({
  endpoint,
  request: { chat: given, input, echo },
}: ResponsesCall): Pick<ResponsesCall['request'], 'chat' | 'input'> & { readonly format: RawJson } {
  const { request: chat, changed, before, after } = fittedRequest(given, endpoint)
  const noted = new Set<string>()
  const items = (messages: readonly ChatMessage[]): readonly InputItem[] =>
    messages.map(({ role, content }) => ({
      type: 'message',
      role: role === 'tool' ? 'user' : role,
      content: content ?? '',
      phase: null,
    }))
  const functions = input.tools.filter(({ type }) => type === 'function')
  const fitted = fittedFunctions(functions, endpoint.dialect, noted)
  return {
    chat,
    format: fittedFormat(objectOf(echo.text['format']) ?? {}, endpoint.dialect, noted),
    input: {
      ...input,
      items: [...items(before), ...input.items, ...items(after)],
      tools: input.tools.map((tool) => fitted[functions.indexOf(tool)] ?? tool),
      toolChoice: changed.has('tool_choice') && chat.toolChoice === 'auto' ? 'auto' : input.toolChoice,
    },
  }
}

function textOf(
  { responseFormat, parameters }: ChatRequest,
  format: RawJson,
  takes: (name: string) => boolean,
): RawJson {
  return {
    ...(responseFormat !== null && (takes('response_format') || takes('structured_outputs')) ? { format } : {}),
    ...(parameters['verbosity'] !== undefined && takes('verbosity') ? { verbosity: parameters['verbosity'] } : {}),
  }
}

/** The reasoning parameters; those beyond the protocol are OpenRouter's. */
function reasoningOf({ reasoning, reasoning_effort: least }: ChatRequest['parameters'], isExtended: boolean): RawJson {
  const { effort = least, summary, enabled, max_tokens: budget } = objectOf(reasoning) ?? {}
  const wished = effort ?? (enabled === false ? 'none' : undefined)
  return {
    ...(wished === undefined ? {} : { effort: wished }),
    ...(summary === undefined ? {} : { summary }),
    ...(isExtended && enabled !== undefined ? { enabled } : {}),
    ...(isExtended && budget !== undefined ? { max_tokens: budget } : {}),
  }
}

/**
 * A tool without null fields: a function that a client sends back has null for absent fields, which a strict service
 * refuses.
 */
function withoutNulls(tool: RawJson): RawJson {
  return Object.fromEntries(Object.entries(tool).filter(([, value]) => value !== null))
}

/**
 * An item in the protocol's form; empty = the service would refuse it, or another `provider` encrypted it. `supported`
 * null = everything of the protocol.
 */
function inputItem(item: InputItem, supported: readonly string[] | null, provider: string): readonly RawJson[] {
  switch (item.type) {
    case 'message': {
      const { role, content, phase } = item
      const spoken = role === 'developer' && supported?.includes('developer') !== true ? 'system' : role
      return [
        {
          type: 'message',
          role: spoken,
          content: typeof content === 'string' ? content : content.map((part) => partOf(part, role === 'assistant')),
          ...(phase === null ? {} : { phase }),
        },
      ]
    }
    case 'function_call':
      return [
        {
          type: 'function_call',
          call_id: item.callId,
          name: item.name,
          arguments: item.arguments,
          ...(item.namespace === null ? {} : { namespace: item.namespace }),
        },
      ]
    case 'function_call_output':
      return [
        {
          type: 'function_call_output',
          call_id: item.callId,
          output: typeof item.output === 'string' ? item.output : item.output.map((part) => partOf(part, false)),
        },
      ]
    case 'reasoning':
      return reasoningItem(item, supported, provider)
    case 'native':
      return nativeItem(item.value, provider)
  }
}

/**
 * A reasoning item. Plain thoughts are sent to services that list reasoning; encrypted ones come from this provider,
 * which accepts them again.
 */
function reasoningItem(
  { summary, content, encryptedContent }: Extract<InputItem, { type: 'reasoning' }>,
  supported: readonly string[] | null,
  provider: string,
): readonly RawJson[] {
  const encrypted = encryptedContent === null ? null : ownText(encryptedContent, provider)
  if (encrypted === null && supported?.includes('reasoning') !== true) return []
  return [
    {
      type: 'reasoning',
      summary: summary.map((text) => ({ type: 'summary_text', text })),
      ...(content.length === 0 ? {} : { content: content.map((text) => ({ type: 'reasoning_text', text })) }),
      ...(encrypted === null ? {} : { encrypted_content: encrypted }),
    },
  ]
}

function nativeItem(value: RawJson, provider: string): readonly RawJson[] {
  const { encrypted_content: given } = value
  if (typeof given !== 'string') return [value]
  const encrypted = ownText(given, provider)
  return encrypted === null ? [] : [{ ...value, encrypted_content: encrypted }]
}

function partOf(part: ChatPart, isOutput: boolean): RawJson {
  switch (part.type) {
    case 'text':
      return { type: isOutput ? 'output_text' : 'input_text', text: part.text }
    case 'image_url':
      return { type: 'input_image', image_url: part.image_url.url, detail: part.image_url.detail ?? 'auto' }
    case 'input_audio':
      return { type: 'input_audio', input_audio: { data: part.input_audio.data, format: part.input_audio.format } }
    case 'audio_url':
      throw new UnsendableError('input: this provider takes no addresses of sound, send its data')
    case 'file': {
      const { filename, file_data: data } = part.file
      return {
        type: 'input_file',
        ...(filename === undefined ? {} : { filename }),
        ...(/^https?:/i.test(data) ? { file_url: data } : { file_data: data }),
      }
    }
    case 'video_url':
      return { type: 'input_video', video_url: part.video_url.url }
    case 'refusal':
      return { type: 'refusal', refusal: part.refusal }
  }
}
