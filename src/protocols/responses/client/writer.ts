import type { Clock } from '../../../base/clock.ts'
import type { ApiError } from '../../../base/errors.ts'
import { isContent, type AnswerEvent, type ItemEvent, type ItemFields } from '../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage, KeptEnd } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, StreamEnd } from '../../../kinds/chat/answer.ts'
import { endOf, failureOf, idTail, responseBody, type ResponseState } from './response-body.ts'
import { type Emit, MessageItem, NativeItem, ReasoningItem, type ItemPlace, type OutputItem } from './output-item.ts'
import type { RequestEcho, ToolNames } from '../request.ts'
import { plainDetail } from '../../../kinds/chat/thoughts.ts'
import { isObject, type RawObject } from '../../../kinds/fields/body-fields.ts'
import { JsonBytes } from '../../../base/json-text.ts'
import { CallItem, CustomCallItem, ToolCallItem, type ClientCall } from './call-item.ts'
import { encodeDetails } from '../../../kinds/answer/provenance.ts'

const NOTHING = Buffer.alloc(0)
const CANCELLED = { status: 'cancelled', incompleteReason: null, failure: null } as const
const NO_FIELDS: ItemFields = Object.freeze({})

/**
 * Writes an answer as a Response, or as the events of its stream (wire.md D-2.4): numbered from 0 without gaps, no
 * `[DONE]`.
 */
export class ResponsesWriter implements AnswerWriter {
  readonly #identity: ChunkIdentity
  readonly #echo: RequestEcho
  readonly #clock: Pick<Clock, 'now'>
  readonly #output: ResponseOutput
  #sequence = 0
  /** Whether some event had content: before that, the stream may start again. */
  #says = false
  #out: string[] = []
  #completed: number | null = null
  #serviceTier: string | null = null
  readonly #tools: RepeatedTools
  readonly #names: ToolNames | null

  /** `names` maps chat names of called tools to the tools. */
  constructor(identity: ChunkIdentity, echo: RequestEcho, clock: Pick<Clock, 'now'>, names: ToolNames | null = null) {
    this.#identity = identity
    this.#tools = new RepeatedTools(echo.tools)
    this.#echo = echo
    this.#clock = clock
    this.#names = names
    this.#output = this.#newOutput((type, fields) => this.#event(type, fields))
  }

  write(events: readonly AnswerEvent[]): Buffer {
    for (const event of events) {
      this.#output.add(event)
      if (event.type === 'origin') this.#serviceTier = event.serviceTier ?? this.#serviceTier
    }
    this.#says ||= events.some(isContent)
    return this.#says ? this.#taken() : NOTHING
  }

  end(end: StreamEnd, usage: ChargedUsage): Buffer {
    const finished = endOf(end.finishes[0]?.finish ?? 'stop')
    // Open items of a failed answer stay open: a client must not take them as complete.
    if (finished.status !== 'failed') this.#output.close(finished.status === 'completed' ? 'completed' : 'incomplete')
    this.#last({ ...finished, usage })
    return this.#taken()
  }

  fail(error: ApiError, usage: ChargedUsage | null): Buffer {
    // The client has never seen the events that were held back.
    if (!this.#says) {
      this.#out = []
      this.#sequence = 0
    }
    this.#last({ status: 'failed', incompleteReason: null, failure: failureOf(error), usage })
    return this.#taken()
  }

  /** May be called more than once, with another charge. */
  kept(end: StreamEnd, usage: ChargedUsage, how: KeptEnd): Record<string, unknown> {
    const finished =
      how === 'cancelled' ? CANCELLED : endOf(how === 'failed' ? 'error' : (end.finishes[0]?.finish ?? 'stop'))
    if (finished.status === 'completed' || finished.status === 'incomplete') this.#output.close(finished.status)
    const completedAt = this.#completedAt(finished.status)
    const { serviceTier } = end
    return this.#body({ ...finished, usage, serviceTier, output: this.#output.bodies(), completedAt })
  }

  whole(answer: ChatAnswer, usage: ChargedUsage, events: readonly AnswerEvent[]): Record<string, unknown> {
    const output = this.#newOutput(() => undefined)
    for (const event of events) output.add(event)
    const end = endOf(answer.choices[0]?.finish ?? 'stop')
    output.close(end.status === 'completed' ? 'completed' : 'incomplete')
    const { serviceTier } = answer
    return this.#body({
      ...end,
      output: output.bodies(),
      usage,
      serviceTier,
      completedAt: this.#completedAt(end.status),
    })
  }

  #newOutput(emit: Emit): ResponseOutput {
    return new ResponseOutput(idTail(this.#identity.id), emit, this.#echo.keepsDetails, this.#names)
  }

  #last(state: Pick<ResponseState, 'status' | 'incompleteReason' | 'failure' | 'usage'>): void {
    this.#event(`response.${state.status}`, {
      response: this.#body({
        ...state,
        serviceTier: this.#serviceTier,
        output: this.#output.bodies(),
        completedAt: this.#completedAt(state.status),
      }),
    })
  }

  #body(state: ResponseState): Record<string, unknown> {
    return responseBody(this.#identity, this.#echo, state)
  }

  /** The very first event announces the Response. */
  #event(type: string, fields: Readonly<Record<string, unknown>>): void {
    if (this.#sequence === 0) {
      const response = this.#body({
        status: 'in_progress',
        output: [],
        usage: null,
        serviceTier: this.#serviceTier,
        completedAt: null,
        incompleteReason: null,
        failure: null,
      })
      this.#put('response.created', { response })
      this.#put('response.in_progress', { response })
    }
    this.#put(type, fields)
  }

  #put(type: string, fields: Readonly<Record<string, unknown>>): void {
    const data = this.#tools.json({ type, sequence_number: this.#sequence, ...fields })
    this.#out.push(`event: ${type}\ndata: ${data}\n\n`)
    this.#sequence += 1
  }

  #taken(): Buffer {
    const bytes = Buffer.from(this.#out.join(''))
    this.#out = []
    return bytes
  }

  /** The time of the first call, so that the kept answer and the sent one agree. */
  #completedAt(status: ResponseState['status']): number | null {
    if (status !== 'completed') return null
    this.#completed ??= Math.floor(this.#clock.now() / 1_000)
    return this.#completed
  }
}

/**
 * The tools of a request, which three events repeat: they are written as JSON once, since agents send 20 kB of them.
 */
class RepeatedTools {
  readonly #tools: readonly RawObject[]
  #known: { readonly text: string; readonly mark: JsonBytes } | null = null

  constructor(tools: readonly RawObject[]) {
    this.#tools = tools
  }

  /** The JSON of an event, which may have a Response with the tools. */
  json(event: Readonly<Record<string, unknown>>): string {
    const { response } = event
    if (!isObject(response) || this.#tools.length === 0) return JSON.stringify(event)
    this.#known ??= { text: JSON.stringify(this.#tools), mark: new JsonBytes(NOTHING) }
    const { text, mark } = this.#known
    const [before, after] = mark.split(JSON.stringify({ ...event, response: { ...response, tools: mark } })) ?? ['', '']
    return before + text + after
  }
}

/**
 * Builds the items of a Responses answer from its events (wire.md D-2.4); `emit` gets every step. One text and one
 * summary are open at a time. Calls stay open until they are known to be complete, because their arguments may come
 * interleaved.
 */
class ResponseOutput {
  readonly #tail: string
  readonly #emit: Emit
  readonly #items: OutputItem[] = []
  readonly #calls = new Map<number, ClientCall>()
  readonly #natives = new Map<number, NativeItem>()
  #message: MessageItem | null = null
  #reasoning: ReasoningItem | null = null
  /** Fields for the next item of the type. */
  #begun: { readonly of: string; readonly fields: ItemFields } | null = null
  #isNewPart = false
  /** Annotations may come before the text that they annotate. */
  #annotations: unknown[] = []
  #wasEmptyText = false
  readonly #keepsDetails: boolean
  readonly #names: ToolNames | null
  #details: unknown[] = []

  /**
   * `tail` is the base of the ids: the generation's id without its prefix. `keepsDetails`: the client wants to send
   * back the data that a model needs to continue its reasoning. `names` maps a chat model's function names to tools;
   * null = the provider names the tools itself.
   */
  constructor(tail: string, emit: Emit, keepsDetails: boolean, names: ToolNames | null) {
    this.#tail = tail
    this.#emit = emit
    this.#keepsDetails = keepsDetails
    this.#names = names
  }

  add(event: AnswerEvent): void {
    // A Response is one answer: further answers that a provider gives unasked are not mixed into it.
    if ('choice' in event && event.choice !== 0) return
    switch (event.type) {
      case 'text':
        return event.text === '' ? this.#emptyText() : this.#say('output_text', event.text)
      case 'refusal':
        return event.text === '' ? undefined : this.#say('refusal', event.text)
      case 'reasoning':
        return this.#think(event.text)
      case 'tool_call':
        return this.#call(event)
      case 'tool_arguments':
        return this.#calls.get(event.index)?.add(event.text)
      case 'extra':
        if (event.field === 'annotations' && Array.isArray(event.value)) this.#annotate(event.value.map(flatAnnotation))
        if (event.field === 'reasoning_details' && this.#keepsDetails && Array.isArray(event.value))
          for (const detail of event.value) this.#details.push(detail)
        if (event.field === 'images') for (const image of generatedImages(event.value)) this.#image(image)
        return
      case 'item':
        return this.#step(event)
      case 'spliced':
        throw new Error('Nothing is spliced into a Responses answer.')
      case 'finish':
      case 'usage':
      case 'wire':
      case 'origin':
    }
  }

  /** The answer is over; open items get `status`. */
  close(status: 'completed' | 'incomplete'): void {
    // An answer with an empty text still has a message.
    if (this.#items.length === 0 && (this.#wasEmptyText || this.#annotations.length > 0))
      this.#openMessage().add('output_text', '')
    this.#encodeDetails()
    for (const item of this.#items) if (item.isOpen) item.close(status)
    this.#message = this.#reasoning = null
    if (this.#details.length === 0) return
    // Signatures that came after their text get an item of their own.
    this.#openReasoning()
    this.#closeSpeech()
  }

  bodies(): readonly Record<string, unknown>[] {
    return this.#items.map((item) => item.body())
  }

  #emptyText(): void {
    this.#wasEmptyText = true
  }

  #say(type: 'output_text' | 'refusal', text: string): void {
    this.#openMessage().add(type, text)
  }

  #openMessage(): MessageItem {
    if (this.#message !== null) return this.#message
    this.#closeSpeech()
    const message = new MessageItem(this.#place('msg'), this.#fieldsFor('message'))
    this.#items.push(message)
    this.#message = message
    if (this.#annotations.length > 0) this.#annotate(this.#annotations.splice(0))
    return message
  }

  #annotate(annotations: readonly unknown[]): void {
    if (this.#message === null) for (const annotation of annotations) this.#annotations.push(annotation)
    else this.#message.annotate(annotations)
  }

  #think(text: string): void {
    if (text === '') return
    this.#openReasoning().add(text, this.#isNewPart)
    this.#isNewPart = false
  }

  #openReasoning(): ReasoningItem {
    if (this.#reasoning !== null) return this.#reasoning
    this.#closeSpeech()
    this.#begun = null
    const reasoning = new ReasoningItem(this.#place('rs'))
    this.#items.push(reasoning)
    this.#reasoning = reasoning
    return reasoning
  }

  #call({ index, id, name }: Extract<AnswerEvent, { type: 'tool_call' }>): void {
    if (this.#details.length > 0) this.#openReasoning()
    this.#closeSpeech()
    const call = this.#newCall(id, name)
    this.#items.push(call)
    this.#calls.set(index, call)
  }

  #newCall(callId: string, name: string): ClientCall {
    const fields = this.#fieldsFor('function_call')
    const tool = this.#names?.origin(name) ?? null
    if (tool === null) return new CallItem(this.#place('fc'), { callId, name, fields })
    const namespace = tool.namespace === null ? {} : { namespace: tool.namespace }
    const called = { callId, name: tool.name, fields: { ...fields, ...namespace } }
    if (tool.type === 'custom') return new CustomCallItem(this.#place('ctc'), called)
    if (tool.type === 'function') return new CallItem(this.#place('fc'), called)
    return new ToolCallItem(this.#place(tool.type === 'tool_search' ? 'tsc' : 'lsh'), callId, tool.type)
  }

  #image(item: ItemFields): void {
    this.#closeSpeech()
    const place = this.#place('ig')
    const image = new NativeItem(place, { id: place.id, ...item })
    this.#items.push(image)
    image.close()
  }

  #step(event: ItemEvent): void {
    switch (event.step) {
      case 'begin':
        this.#closeSpeech()
        this.#begun = event
        return
      case 'part':
        this.#isNewPart = true
        return
      case 'end':
        return this.#endItem(event)
      case 'native':
        return this.#passNative(event)
    }
  }

  #endItem({ of, index, fields }: Extract<ItemEvent, { step: 'end' }>): void {
    const call = of === 'function_call' ? this.#calls.get(index) : undefined
    if (call?.isOpen === true) call.close('completed')
    if (of === 'reasoning') this.#endReasoning(fields)
    // A message is opened even if its text is empty.
    if (of === 'message' && this.#begun?.of === 'message') this.#openMessage().add('output_text', '')
    if (of === 'message' && this.#message !== null) this.#closeSpeech()
  }

  /** Ends reasoning, which may be only for the provider: then the item contains only the provider's own data. */
  #endReasoning(fields: ItemFields): void {
    const isUnsaid = this.#begun?.of === 'reasoning'
    if (isUnsaid && Object.keys(fields).length === 0) this.#begun = null
    else if (this.#reasoning !== null || isUnsaid) {
      this.#openReasoning().describe(fields)
      this.#closeSpeech()
    } else this.#items.findLast((item): item is ReasoningItem => item instanceof ReasoningItem)?.describe(fields)
  }

  #passNative({ key, event }: Extract<ItemEvent, { step: 'native' }>): void {
    const known = this.#natives.get(key)
    if (known !== undefined) return known.pass(event)
    const item = event['item']
    // Data without a known item means nothing to a client.
    if (typeof item !== 'object' || item === null) return
    this.#closeSpeech()
    const place = this.#place('item')
    const native = new NativeItem(place, { ...item })
    this.#items.push(native)
    this.#natives.set(key, native)
    native.pass(event)
  }

  #encodeDetails(): void {
    if (this.#reasoning === null) return
    const details = this.#details.splice(0)
    // Some clients send back only encrypted thoughts.
    const plain = this.#keepsDetails && this.#names !== null ? (this.#reasoning.unsigned() ?? '') : ''
    if (details.length === 0 && plain !== '') details.push(plainDetail(plain))
    if (details.length > 0) this.#reasoning.describe({ encrypted_content: encodeDetails(details) })
  }

  #closeSpeech(): void {
    this.#encodeDetails()
    this.#message?.close('completed')
    this.#reasoning?.close('completed')
    this.#message = this.#reasoning = null
    this.#isNewPart = false
  }

  #fieldsFor(type: string): ItemFields {
    const fields = this.#begun?.of === type ? this.#begun.fields : NO_FIELDS
    this.#begun = null
    return fields
  }

  #place(prefix: string): ItemPlace {
    const index = this.#items.length
    return { id: `${prefix}-${this.#tail}-${index}`, index, emit: this.#emit }
  }
}

/**
 * An annotation in the form of Responses, which has no inner object: the members of chat's `{type, url_citation: {…}}`
 * move up.
 */
function flatAnnotation(annotation: unknown): unknown {
  if (!isObject(annotation) || typeof annotation['type'] !== 'string') return annotation
  const { type } = annotation
  const inner = annotation[type]
  if (!isObject(inner)) return annotation
  return { type, ...(type === 'url_citation' ? { start_index: 0, end_index: 0, title: '' } : {}), ...inner }
}

/** The images of a chat answer as items of Responses; an image without data is left out. */
function generatedImages(images: unknown): readonly ItemFields[] {
  if (!Array.isArray(images)) return []
  return images.flatMap((image: unknown) => {
    const url = isObject(image) && isObject(image['image_url']) ? image['image_url']['url'] : null
    const data = typeof url === 'string' ? /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1] : undefined
    return data === undefined ? [] : [{ type: 'image_generation_call', status: 'completed', result: data }]
  })
}
