/** What was said, in the order of the request. */
export interface Said {
  readonly by: 'user' | 'model' | 'tool'
  readonly text: string
}

/** A request to the model, in any protocol. */
export interface Asked {
  readonly said: readonly Said[]
  /** Names of the functions that it may call. */
  readonly tools: readonly string[]
  readonly stream: boolean
}

export type Answered =
  | { readonly text: string }
  | { readonly tool: string; readonly arguments: Record<string, unknown> }

/** Tokens that every answer reports: 1,000 of input, 200 of them from a cache, and 50 of output. */
export const REPORTED = { input: 1_000, cached: 200, output: 50 } as const

/** One protocol of the scripted model. */
export interface ModelProtocol {
  handles(path: string): boolean
  read(body: Record<string, unknown>, path: string): Asked
  /** The whole answer. */
  whole(answered: Answered): unknown
  /** The events of a stream, as bytes. */
  events(answered: Answered): readonly string[]
}

type Fields = Readonly<Record<string, unknown>>

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value : []
}

/** The texts of a content, whatever its parts are. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return list(content)
    .map((part) => (typeof part['text'] === 'string' ? part['text'] : textOf(part['content'] ?? '')))
    .join('\n')
}

function event(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
}

/** A text in pieces, as a model streams it. */
function pieces(text: string): readonly string[] {
  return text.match(/.{1,7}/gsu) ?? ['']
}

const CHAT_USAGE = {
  prompt_tokens: REPORTED.input,
  completion_tokens: REPORTED.output,
  total_tokens: REPORTED.input + REPORTED.output,
  prompt_tokens_details: { cached_tokens: REPORTED.cached },
}

const chat: ModelProtocol = {
  handles: (path) => path.endsWith('/chat/completions'),
  read: (body) => ({
    said: list(body['messages']).flatMap(({ role, content }): Said[] =>
      role === 'system' || role === 'developer'
        ? []
        : [{ by: role === 'tool' ? 'tool' : role === 'assistant' ? 'model' : 'user', text: textOf(content) }],
    ),
    tools: list(body['tools']).map((tool) => String((tool['function'] as Fields | undefined)?.['name'])),
    stream: body['stream'] === true,
  }),
  whole: (answered) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'scripted',
    choices: [{ index: 0, message: chatMessage(answered), finish_reason: 'text' in answered ? 'stop' : 'tool_calls' }],
    usage: CHAT_USAGE,
  }),
  events: (answered) => {
    const chunk = (delta: unknown, finish: string | null = null): string =>
      event({
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'scripted',
        choices: [{ index: 0, delta, finish_reason: finish }],
      })
    const said =
      'text' in answered
        ? pieces(answered.text).map((content) => chunk({ content }))
        : [
            chunk({
              tool_calls: [
                { index: 0, id: 'call_1', type: 'function', function: { name: answered.tool, arguments: '' } },
              ],
            }),
            ...pieces(JSON.stringify(answered.arguments)).map((text) =>
              chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
            ),
          ]
    return [
      chunk({ role: 'assistant', content: '' }),
      ...said,
      chunk({}, 'text' in answered ? 'stop' : 'tool_calls'),
      event({
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'scripted',
        choices: [],
        usage: CHAT_USAGE,
      }),
      event('[DONE]'),
    ]
  },
}

function chatMessage(answered: Answered): unknown {
  if ('text' in answered) return { role: 'assistant', content: answered.text }
  return {
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        id: 'call_1',
        type: 'function',
        function: { name: answered.tool, arguments: JSON.stringify(answered.arguments) },
      },
    ],
  }
}

const MESSAGES_USAGE = {
  input_tokens: REPORTED.input - REPORTED.cached,
  cache_read_input_tokens: REPORTED.cached,
  cache_creation_input_tokens: 0,
  output_tokens: REPORTED.output,
}

const messages: ModelProtocol = {
  handles: (path) => /\/messages(?:\?.*)?$/.test(path),
  read: (body) => ({
    said: list(body['messages']).flatMap(({ role, content }) => messageSaid(role, content)),
    tools: list(body['tools']).map(({ name }) => String(name)),
    stream: body['stream'] === true,
  }),
  whole: (answered) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    content: [
      'text' in answered
        ? { type: 'text', text: answered.text }
        : { type: 'tool_use', id: 'toolu_1', name: answered.tool, input: answered.arguments },
    ],
    stop_reason: 'text' in answered ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: MESSAGES_USAGE,
  }),
  events: (answered) => {
    const named = (data: { readonly type: string } & Fields): string => event(data, data.type)
    const deltas =
      'text' in answered
        ? pieces(answered.text).map((text) => ({ type: 'text_delta', text }))
        : pieces(JSON.stringify(answered.arguments)).map((text) => ({ type: 'input_json_delta', partial_json: text }))
    return [
      named({
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'scripted',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...MESSAGES_USAGE, output_tokens: 1 },
        },
      }),
      named({
        type: 'content_block_start',
        index: 0,
        content_block:
          'text' in answered
            ? { type: 'text', text: '' }
            : { type: 'tool_use', id: 'toolu_1', name: answered.tool, input: {} },
      }),
      named({ type: 'ping' }),
      ...deltas.map((delta) => named({ type: 'content_block_delta', index: 0, delta })),
      named({ type: 'content_block_stop', index: 0 }),
      named({
        type: 'message_delta',
        delta: { stop_reason: 'text' in answered ? 'end_turn' : 'tool_use', stop_sequence: null },
        usage: MESSAGES_USAGE,
      }),
      named({ type: 'message_stop' }),
    ]
  },
}

/** A user message may contain the results of tools. */
function messageSaid(role: unknown, content: unknown): readonly Said[] {
  if (role === 'assistant') return [{ by: 'model', text: textOf(content) }]
  if (typeof content === 'string') return [{ by: 'user', text: content }]
  return list(content).map((block) => ({
    by: block['type'] === 'tool_result' ? 'tool' : 'user',
    text: textOf([block]),
  }))
}

const GEMINI_USAGE = {
  promptTokenCount: REPORTED.input,
  cachedContentTokenCount: REPORTED.cached,
  candidatesTokenCount: REPORTED.output,
  totalTokenCount: REPORTED.input + REPORTED.output,
}

const gemini: ModelProtocol = {
  handles: (path) => /:(?:streamG|g)enerateContent/.test(path),
  read: (body, path) => ({
    said: list(body['contents']).flatMap(({ role, parts }) =>
      list(parts).map((part): Said => ({
        by: part['functionResponse'] !== undefined ? 'tool' : role === 'model' ? 'model' : 'user',
        text: textOf([part]),
      })),
    ),
    tools: list(body['tools']).flatMap((tool) => list(tool['functionDeclarations']).map(({ name }) => String(name))),
    stream: path.includes(':streamGenerateContent'),
  }),
  whole: (answered) => geminiChunk([geminiPart(answered)], 'STOP'),
  events: (answered) => [
    ...('text' in answered ? pieces(answered.text).map((text) => event(geminiChunk([{ text }], null))) : []),
    event(geminiChunk('text' in answered ? [{ text: '' }] : [geminiPart(answered)], 'STOP')),
  ],
}

function geminiPart(answered: Answered): unknown {
  return 'text' in answered
    ? { text: answered.text }
    : { functionCall: { name: answered.tool, args: answered.arguments }, thoughtSignature: 'c2lnbmVk' }
}

function geminiChunk(parts: readonly unknown[], finishReason: string | null): unknown {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason === null ? {} : { finishReason }) }],
    usageMetadata: GEMINI_USAGE,
    modelVersion: 'scripted',
    responseId: 'resp-1',
  }
}

const RESPONSES_USAGE = {
  input_tokens: REPORTED.input,
  input_tokens_details: { cached_tokens: REPORTED.cached },
  output_tokens: REPORTED.output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: REPORTED.input + REPORTED.output,
}

const responses: ModelProtocol = {
  handles: (path) => path.endsWith('/responses'),
  read: (body) => ({
    said:
      typeof body['input'] === 'string'
        ? [{ by: 'user', text: body['input'] }]
        : list(body['input']).flatMap(({ type, role, content, output }): Said[] => {
            if (typeof type === 'string' && type.endsWith('_output')) return [{ by: 'tool', text: textOf(output) }]
            if (role === 'assistant') return [{ by: 'model', text: textOf(content) }]
            return role === 'user' ? [{ by: 'user', text: textOf(content) }] : []
          }),
    tools: list(body['tools']).map(({ name, type }) => String(name ?? type)),
    stream: body['stream'] === true,
  }),
  whole: (answered) => response(answered, 'completed'),
  events: (answered) => {
    let number = 0
    const named = (data: { readonly type: string } & Fields): string => {
      number += 1
      return event({ ...data, sequence_number: number }, data.type)
    }
    const item = outputItem(answered)
    const of = { item_id: item['id'], output_index: 0 }
    const inner =
      'text' in answered
        ? [
            named({
              type: 'response.content_part.added',
              ...of,
              content_index: 0,
              part: { type: 'output_text', text: '', annotations: [] },
            }),
            ...pieces(answered.text).map((delta) =>
              named({ type: 'response.output_text.delta', ...of, content_index: 0, delta }),
            ),
            named({ type: 'response.output_text.done', ...of, content_index: 0, text: answered.text }),
            named({
              type: 'response.content_part.done',
              ...of,
              content_index: 0,
              part: { type: 'output_text', text: answered.text, annotations: [] },
            }),
          ]
        : [
            ...pieces(JSON.stringify(answered.arguments)).map((delta) =>
              named({ type: 'response.function_call_arguments.delta', ...of, delta }),
            ),
            named({
              type: 'response.function_call_arguments.done',
              ...of,
              arguments: JSON.stringify(answered.arguments),
            }),
          ]
    return [
      named({ type: 'response.created', response: { ...response(answered, 'in_progress'), output: [], usage: null } }),
      named({
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress', ...('text' in answered ? { content: [] } : { arguments: '' }) },
      }),
      ...inner,
      named({ type: 'response.output_item.done', output_index: 0, item }),
      named({ type: 'response.completed', response: response(answered, 'completed') }),
    ]
  },
}

function outputItem(answered: Answered): Fields {
  return 'text' in answered
    ? {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: answered.text, annotations: [] }],
      }
    : {
        id: 'fc_1',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        name: answered.tool,
        arguments: JSON.stringify(answered.arguments),
      }
}

function response(answered: Answered, status: string): Fields {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status,
    model: 'scripted',
    output: [outputItem(answered)],
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    usage: RESPONSES_USAGE,
  }
}

export const PROTOCOLS: readonly ModelProtocol[] = [chat, messages, gemini, responses]
