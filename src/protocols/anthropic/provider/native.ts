import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { Adapter } from '../../ports/adapter.ts'
import { garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import type { MessagesCall } from '../../ports/call.ts'
import { askEvents, sseMessages, type EventReader, type KnownEvents } from '../../upstream/events.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { objectOf, parseJson, textOf, type RawJson, listOf } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { CLAUDE_TRAITS, EFFORT_LEAST, type ModelTraits, budgetOf, signerOf } from '../../models/claude-traits.ts'
import { AnthropicReader } from './reader.ts'
import { ANTHROPIC_VERSION, MESSAGES_PATH, bindingOf } from './request.ts'
import { markedText } from '../../../kinds/answer/provenance.ts'
import { CONTINUE, PREFILL } from '../../models/turns.ts'
import { JSON_ONLY, toolWishOf } from '../../models/claude-format.ts'

/**
 * Marks the thoughts of an answer that its client gets unchanged, so that they come back only to this provider. A
 * thought without a signature gets one that is only the mark. For providers other than Claude's.
 */
class MarkedThinking {
  readonly #provider: string
  /** Open blocks of thinking, and whether their mark has been sent. */
  readonly #open = new Map<unknown, boolean>()

  constructor(provider: string) {
    this.#provider = provider
  }

  /** The events that replace an event of a stream; null = it stays unchanged. */
  events(event: RawJson): readonly RawJson[] | null {
    const { type, index } = event
    if (type === 'content_block_start') {
      const given = objectOf(event['content_block']) ?? {}
      const block = this.#block(given)
      if (given['type'] === 'thinking') this.#open.set(index, given['signature'] !== block['signature'])
      return block === given ? null : [{ ...event, content_block: block }]
    }
    const isMarked = this.#open.get(index)
    if (isMarked === undefined) return null
    if (type === 'content_block_stop') {
      this.#open.delete(index)
      return isMarked ? null : [this.#signature(index, ''), event]
    }
    const signature = textOf(objectOf(event['delta'])?.['signature'])
    if (type !== 'content_block_delta' || signature === null || isMarked) return null
    this.#open.set(index, true)
    return [this.#signature(index, signature)]
  }

  whole(message: RawJson): RawJson {
    const content = listOf(message['content']).map((raw) => {
      const block = objectOf(raw)
      if (block === null) return raw
      return block['type'] === 'thinking' ? this.#signed(block) : this.#block(block)
    })
    return Array.isArray(message['content']) ? { ...message, content } : message
  }

  /** In a stream, thinking begins without its signature, which follows. */
  #block(block: RawJson): RawJson {
    const data = block['type'] === 'redacted_thinking' ? textOf(block['data']) : null
    if (data !== null) return { ...block, data: markedText(data, this.#provider) }
    return block['type'] === 'thinking' && (textOf(block['signature']) ?? '') !== '' ? this.#signed(block) : block
  }

  #signed(block: RawJson): RawJson {
    return { ...block, signature: markedText(textOf(block['signature']) ?? '', this.#provider) }
  }

  #signature(index: unknown, signature: string): RawJson {
    const delta = { type: 'signature_delta', signature: markedText(signature, this.#provider) }
    return { type: 'content_block_delta', index, delta }
  }
}

const LF = 0x0a
const EVENT_NAME = /^[a-z_]{1,64}$/

/** Sends the client's own request, and passes the answer on unchanged while reading it (clients.md D-14.2). */
export function anthropicMessages(transport: Transport): NonNullable<Adapter['messages']> {
  return (call, sink) =>
    askEvents(
      transport,
      call,
      {
        request: () => ({ path: MESSAGES_PATH, body: call.body, headers: headersOf(call) }),
        reader: () => new NativeReader(call),
        decoder: sseMessages,
      },
      sink,
    )
}

function headersOf({ apiKey, headers }: MessagesCall): Record<string, string> {
  return {
    'anthropic-version': ANTHROPIC_VERSION,
    ...headers,
    ...(apiKey === null ? {} : { 'x-api-key': apiKey }),
  }
}

/** Returns the ordinary events, with the provider's own event next to them. */
export class NativeReader implements EventReader {
  readonly #reader: AnthropicReader
  readonly #startOf: MessagesCall['startOf']
  readonly #marks: MarkedThinking | null
  #started = false

  constructor({ generationId, startOf, endpoint }: MessagesCall) {
    const signer = signerOf(endpoint)
    this.#reader = new AnthropicReader({ generationId, answerTool: null, hidesReasoning: false, signer })
    this.#marks = signer === null ? null : new MarkedThinking(signer)
    this.#startOf = startOf
  }

  get state(): AnswerState {
    return this.#reader.state
  }

  known(bytes: Buffer, start: number): KnownEvents | null {
    const known = this.#reader.known(bytes, start)
    if (known === null || 'reason' in known.read) return known
    const { read, end } = known
    return { read: [...read, { type: 'wire', sent: bytes.subarray(start, end) }], end }
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const event = objectOf(parseJson(data))
    if (event === null) return garbage('not a JSON object', data)
    const read = this.#reader.parsed(data, event)
    if ('reason' in read) return read
    const type = textOf(event['type']) ?? ''
    switch (type) {
      case 'ping':
        // We send pings ourselves; those of the provider are no progress.
        return read
      case 'message_start':
        // Some proxies send the start twice.
        if (this.#started) return read
        this.#started = true
        return [...read, { type: 'wire', sent: this.#startOf(event) }]
      case 'message_delta':
      case 'message_stop':
        return [...read, { type: 'wire', sent: event }]
      default: {
        if (!EVENT_NAME.test(type)) return read
        const marked = this.#marks?.events(event) ?? null
        if (marked === null) return [...read, { type: 'wire', sent: eventBytes(type, data, event) }]
        return [...read, ...marked.map((sent) => ({ type: 'wire', sent: ownBytes(sent) }) as const)]
      }
    }
  }

  ended(): AttemptFailure | null {
    return this.#reader.ended()
  }

  whole(body: unknown): readonly AnswerEvent[] | AttemptFailure {
    const read = this.#reader.whole(body)
    const message = objectOf(body)
    return 'reason' in read || message === null
      ? read
      : [...read, { type: 'wire', sent: this.#marks?.whole(message) ?? message }]
  }

  /** A refusal of the request is passed on whole; one of the operator's account, or a fault, comes in our words. */
  error(_status: number, body: unknown, read: (body: unknown) => AttemptFailure): AttemptFailure {
    const failure = read(body)
    const refusal = objectOf(body)
    return failure.publicMessage === null || refusal === null || !isError(refusal)
      ? failure
      : { ...failure, body: refusal }
  }
}

function isError({ type, error }: RawJson): boolean {
  const said = objectOf(error)
  return type === 'error' && typeof said?.['type'] === 'string' && typeof said['message'] === 'string'
}

function ownBytes(event: RawJson): Buffer {
  return Buffer.from(`event: ${textOf(event['type']) ?? ''}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** The bytes of an event; data of several lines is written as one line. */
function eventBytes(type: string, data: Buffer, event: unknown): Buffer {
  const line = data.includes(LF) ? Buffer.from(JSON.stringify(event)) : data
  return Buffer.concat([Buffer.from(`event: ${type}\ndata: `), line, Buffer.from('\n\n')])
}

/** A client's own body of Messages in the form that a model accepts. */
interface FittedBody {
  readonly body: RawJson
  /** The changed parts, by the names of the client's protocol. */
  readonly changed: readonly string[]
  /** Values for `anthropic-beta`, in addition to the client's own. */
  readonly betas: readonly string[]
}

/** Leaves out only what a Claude model would refuse (the rows of `claude-traits.ts`), or puts it into words. */
export function fittedBody(given: RawJson, upstreamModel: string): FittedBody {
  const traits = CLAUDE_TRAITS.of(upstreamModel)
  if (traits === null) return { body: given, changed: [], betas: [] }
  const body: Record<string, unknown> = { ...given }
  const words: string[] = []
  const changed = [
    ...fitThinking(body, traits),
    ...fitSampling(body, traits),
    ...fitTools(body, traits, words),
    ...fitFormat(body, traits, words),
    ...fitPrefill(body, traits),
  ]
  if (changed.length === 0) return { body: given, changed, betas: [] }
  if (words.length > 0) {
    const { system } = body
    const said = typeof system === 'string' ? [{ type: 'text', text: system }] : listOf(system)
    body['system'] = [...said, ...words.map((text) => ({ type: 'text', text }))]
  }
  // The text before a thought of an earlier turn may have changed.
  const { thinking, messages, betas } = bindingOf(objectOf(body['thinking']), listOf(body['messages']), traits)
  if (thinking !== null) body['thinking'] = thinking
  body['messages'] = messages
  return { body, changed, betas }
}

function fitThinking(body: Record<string, unknown>, traits: ModelTraits): readonly string[] {
  const given = objectOf(body['thinking'])
  const type = given?.['type']
  if (given === null || (type !== 'disabled' && type !== 'enabled' && type !== 'adaptive')) return []
  const output = objectOf(body['output_config'])
  if (traits.thinking === 'none' && type !== 'disabled') {
    delete body['thinking']
    return ['thinking']
  }
  if (traits.thinking === 'budget' && type === 'adaptive' && !traits.adapts) {
    const effort = textOf(output?.['effort'])
    const budget = budgetOf({ effort, budget: null }, Number(body['max_tokens']))
    if (budget === null) delete body['thinking']
    else body['thinking'] = { type: 'enabled', budget_tokens: budget }
    return ['thinking']
  }
  if (traits.thinking !== 'adaptive' || type === 'adaptive') return []
  if (type === 'enabled') {
    const { budget_tokens: _budget, display = 'summarized', ...others } = given
    body['thinking'] = { ...others, type: 'adaptive', display }
    return ['thinking.budget_tokens']
  }
  if (traits.leastThinking === 'disabled') return []
  if (traits.leastThinking !== null) body['thinking'] = { type: traits.leastThinking }
  else {
    delete body['thinking']
    body['output_config'] = { effort: EFFORT_LEAST, ...output }
  }
  return ['thinking']
}

function fitSampling(body: Record<string, unknown>, { samplingParameters }: ModelTraits): readonly string[] {
  const left =
    samplingParameters === 0
      ? ['temperature', 'top_p', 'top_k']
      : samplingParameters === 1 && body['temperature'] !== undefined
        ? ['top_p']
        : []
  // A parameter may be given with its default value.
  const changed = left.filter((name) => body[name] !== undefined && !(name === 'temperature' && body[name] === 1))
  for (const name of changed) delete body[name]
  return changed
}

function fitTools(body: Record<string, unknown>, traits: ModelTraits, words: string[]): readonly string[] {
  const changed: string[] = []
  const tools = listOf(body['tools']).map((tool) => objectOf(tool) ?? {})
  if (!traits.constrains && tools.some(({ strict }) => strict === true)) {
    body['tools'] = tools.map(({ strict: _strict, ...tool }) => tool)
    changed.push('tools.strict')
  }
  const choice = objectOf(body['tool_choice'])
  const name = textOf(choice?.['name'])
  const isForced = choice?.['type'] === 'any' || (choice?.['type'] === 'tool' && name !== null)
  const wish = toolWishOf(name === null ? 'required' : { type: 'function', function: { name } }, traits)
  if (!isForced || wish.words === null) return changed
  const { disable_parallel_tool_use: single } = choice
  body['tool_choice'] = { type: 'auto', ...(single === undefined ? {} : { disable_parallel_tool_use: single }) }
  words.push(wish.words)
  return [...changed, 'tool_choice']
}

function fitFormat(body: Record<string, unknown>, { constrains }: ModelTraits, words: string[]): readonly string[] {
  const { format, ...output } = objectOf(body['output_config']) ?? {}
  if (constrains || format === undefined) return []
  if (Object.keys(output).length === 0) delete body['output_config']
  else body['output_config'] = output
  const schema = objectOf(format)?.['schema']
  words.push(schema === undefined ? JSON_ONLY : `${JSON_ONLY} It must fit this JSON schema: ${JSON.stringify(schema)}`)
  return ['output_config.format']
}

function fitPrefill(body: Record<string, unknown>, { takesPrefill }: ModelTraits): readonly string[] {
  const messages = listOf(body['messages'])
  const last = objectOf(messages.at(-1))
  if (takesPrefill || last?.['role'] !== 'assistant') return []
  const content = last['content']
  const text = typeof content === 'string' ? content : textOf(objectOf(listOf(content).at(-1))?.['text'])
  if (text === null || text.trim() === '') return []
  body['messages'] = [...messages, { role: 'user', content: CONTINUE }]
  return [PREFILL]
}
