import { tierEvents, type AnswerEvent, type ItemFields } from '../../../kinds/answer/event.ts'
import type { UsageReport } from '../../../kinds/chat/answer.ts'
import { inputUsage } from '../../../kinds/answer/usage.ts'
import { billed, failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import type { EventReader } from '../../upstream/events.ts'
import { countOf } from '../../answers/token-reader.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { openaiUsage } from '../../openai/provider/usage.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import { markedText } from '../../../kinds/answer/provenance.ts'
import { toolCallId } from '../../answers/tool-calls.ts'

const FIELD = 'encrypted_content'
/** Far more items than any real answer has: a bound on what a broken upstream makes us hold in memory. */
const ITEMS_MAX = 1_024
/** The most characters of arguments whose call has no name yet. */
const WAITING_CHARS_MAX = 1_048_576

/**
 * An item whose text we write ourselves, with the text that was sent so far, by the kind of part and the part's number
 * in the stream.
 */
interface SpokenItem {
  readonly type: 'message' | 'reasoning' | 'function_call'
  /** The index of its tool call. */
  readonly callIndex: number
  readonly told: Map<string, Map<number, string>>
  /** The number of annotations sent for each part. */
  readonly annotated: Map<number, number>
  ended: boolean
}

type Item = SpokenItem | { readonly type: 'native'; ended: boolean }

/** Kinds of text, and their delta events, which some providers leave out. */
const DELTAS: ReadonlyMap<string, { readonly of: SpokenItem['type']; readonly part: string; readonly at: string }> =
  new Map([
    ['response.output_text.delta', { of: 'message', part: 'text', at: 'content_index' }],
    ['response.refusal.delta', { of: 'message', part: 'refusal', at: 'content_index' }],
    ['response.reasoning_summary_text.delta', { of: 'reasoning', part: 'summary', at: 'summary_index' }],
    ['response.reasoning_text.delta', { of: 'reasoning', part: 'thought', at: 'content_index' }],
    ['response.function_call_arguments.delta', { of: 'function_call', part: 'arguments', at: '' }],
  ])

/**
 * Only the provider that encrypted reasoning can decrypt it, and another one refuses the whole request. So the client's
 * copy names the provider (clients.md 3).
 */
function marked(events: readonly AnswerEvent[], provider: string): readonly AnswerEvent[] {
  return events.map((event) => {
    if (event.type !== 'item') return event
    if (event.step === 'end') return { ...event, fields: markedFields(event.fields, provider) }
    const item = event.step === 'native' ? objectOf(event.event['item']) : null
    return event.step !== 'native' || item === null
      ? event
      : { ...event, event: { ...event.event, item: markedFields(item, provider) } }
  })
}

function markedFields(fields: Readonly<Record<string, unknown>>, provider: string): Readonly<Record<string, unknown>> {
  const text = textOf(fields[FIELD])
  return text === null || text === '' ? fields : { ...fields, [FIELD]: markedText(text, provider) }
}

/** States of a background job. We never request one, and its cost is not known yet. */
const PENDING = ['queued', 'in_progress']
const ENDS = ['response.completed', 'response.incomplete']

/** Reads one answer of the Responses protocol. */
export class ResponsesReader implements EventReader {
  readonly #items: OutputItems
  readonly #provider: string
  #named = false
  #done = false

  /** `provider` marks its encrypted reasoning. */
  constructor(generationId: string, provider: string) {
    this.#items = new OutputItems(generationId)
    this.#provider = provider
  }

  /** Any item may be followed by another one, so only the last event shows that there is no more. */
  get state(): AnswerState {
    return this.#done ? 'done' : 'open'
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const event = objectOf(parseJson(data))
    // Some providers send it after the last event, when nobody waits for it.
    if (event === null) return data.toString('latin1') === '[DONE]' ? [] : garbage('not a JSON object', data)
    const type = textOf(event['type']) ?? ''
    const response = objectOf(event['response'])
    if (type === 'error') return this.#failed(event['error'] ?? event, response ?? event)
    if (type === 'response.failed') return this.#failed(response?.['error'], response)
    const events = [
      ...this.#origin(response),
      ...(type === 'response.created' ? [] : tierEvents(response?.['service_tier'])),
    ]
    if (ENDS.includes(type)) {
      this.#done = true
      return this.#end(events, response ?? {}, type)
    }
    const before = this.#items.searches
    const read = this.#items.read(type, event)
    if (read === null) return tooMany()
    return [
      ...events,
      ...marked(read, this.#provider),
      ...(this.#items.searches > before ? usageEvents(this.#usage(null)) : []),
    ]
  }

  ended(): AttemptFailure | null {
    return this.#done
      ? null
      : failure(this.#named ? 'cut' : 'garbage', null, 'the stream ended without a terminal event')
  }

  whole(body: unknown): readonly AnswerEvent[] | AttemptFailure {
    const response = objectOf(body)
    const error = response?.['error'] ?? null
    if (error !== null) return this.#failed(error, response)
    if (response === null || !Array.isArray(response['output']))
      return failure('garbage', null, 'the answer is not a response')
    const status = textOf(response['status']) ?? 'completed'
    if (PENDING.includes(status))
      return {
        ...failure('garbage', null, `the answer is a response that is ${status}`),
        said: `the response was put into a queue (${status}), and nobody asked for that: its answer would have to be fetched later`,
      }
    if (status !== 'completed' && status !== 'incomplete') return this.#failed(`the response is ${status}`, response)
    return this.#end(
      [...this.#origin(response), ...tierEvents(response['service_tier'])],
      response,
      `response.${status}`,
    )
  }

  #origin(response: RawJson | null): AnswerEvent[] {
    const upstreamId = textOf(response?.['id'])
    if (this.#named || upstreamId === null) return []
    this.#named = true
    return [{ type: 'origin', upstreamId, systemFingerprint: null }]
  }

  /** Reads the last event, which repeats the whole output: content without events of its own is taken from there. */
  #end(before: readonly AnswerEvent[], response: RawJson, type: string): readonly AnswerEvent[] | AttemptFailure {
    const rest = this.#items.complete(listOf(response['output']))
    if (rest === null) return tooMany()
    const events: AnswerEvent[] = [...before, ...marked(rest, this.#provider)]
    const reason = textOf(objectOf(response['incomplete_details'])?.['reason'])
    if (type === 'response.completed')
      events.push({
        type: 'finish',
        choice: 0,
        native: 'completed',
        finish: this.#items.hasCalls ? 'tool_calls' : 'stop',
      })
    else
      events.push({
        type: 'finish',
        choice: 0,
        native: reason ?? 'incomplete',
        finish: reason === 'content_filter' ? 'content_filter' : 'length',
      })
    return [...events, ...usageEvents(this.#usage(response))]
  }

  /** The usage. Searches are billed even if no tokens are reported: as the service counts them, else by their items. */
  #usage(response: RawJson | null): UsageReport | null {
    const report = openaiUsage(response?.['usage'], true)
    const told = countOf(objectOf(objectOf(response?.['tool_usage'])?.['web_search'])?.['num_requests'])
    const searches = told ?? (report?.usage.search || this.#items.searches)
    if (searches === 0 && report === null) return null
    const usage = report ?? { ...inputUsage({ tokens: null }), missing: ['input', 'output'] }
    return { ...usage, usage: { ...usage.usage, search: searches } }
  }

  #failed(error: unknown, response: RawJson | null): AttemptFailure {
    return billed(eventFailure(error ?? 'the response failed'), this.#usage(response))
  }
}

function usageEvents(usage: UsageReport | null): readonly AnswerEvent[] {
  return usage === null ? [] : [{ type: 'usage', usage }]
}

function tooMany(): AttemptFailure {
  return failure('garbage', null, 'the answer holds more items than any answer has')
}

/**
 * The output items of one answer as events, whether they come in pieces, whole at their end, or only in the last event.
 * Nothing is sent twice.
 */
export class OutputItems {
  readonly #generationId: string
  readonly #items = new Map<number, Item>()
  /** Arguments of calls that have no name yet: a call without a name cannot be opened. */
  readonly #waiting = new Map<number, string>()
  #waitingChars = 0
  #calls = 0
  #searches = 0

  constructor(generationId: string) {
    this.#generationId = generationId
  }

  get hasCalls(): boolean {
    return this.#calls > 0
  }

  /** The provider's web searches, each of which it bills. */
  get searches(): number {
    return this.#searches
  }

  /** Reads one event of the stream; null = more items than any real answer has. */
  read(type: string, event: RawJson): readonly AnswerEvent[] | null {
    const key = indexOf(event['output_index'])
    if (this.#items.size >= ITEMS_MAX && !this.#items.has(key)) return null
    const item = objectOf(event['item'])
    if (type === 'response.output_item.added') return item === null ? [] : this.#opened(key, item, event)
    if (type === 'response.output_item.done') return item === null ? [] : this.#ended(key, item, event)
    const known = this.#items.get(key)
    if (known?.type === 'native') return known.ended ? [] : [nativeEvent(key, event)]
    if (type === 'response.output_text.annotation.added')
      return known?.type === 'message'
        ? annotationEvents(known, indexOf(event['content_index']), [event['annotation']])
        : []
    const delta = DELTAS.get(type)
    if (delta === undefined) return []
    const text = textOf(event['delta']) ?? ''
    if (known === undefined && delta.of === 'function_call') return this.#wait(key, text)
    const events: AnswerEvent[] = known === undefined ? [...this.#opened(key, { type: delta.of }, event)] : []
    const spoken = this.#items.get(key)
    if (spoken === undefined || spoken.type !== delta.of || text === '') return events
    return [...events, ...tell(spoken, delta.part, indexOf(event[delta.at]), text)]
  }

  #wait(key: number, text: string): readonly AnswerEvent[] | null {
    this.#waiting.set(key, (this.#waiting.get(key) ?? '') + text)
    this.#waitingChars += text.length
    return this.#waiting.size > ITEMS_MAX || this.#waitingChars > WAITING_CHARS_MAX ? null : []
  }

  /**
   * Reads the whole output and returns only what was not sent before; null = it is too long. If the stream named items,
   * only those count, since some services number the whole output differently.
   */
  complete(output: readonly unknown[]): readonly AnswerEvent[] | null {
    if (output.length > ITEMS_MAX) return null
    const told = new Map(this.#items)
    return output.flatMap((raw, key) => {
      const item = objectOf(raw) ?? {}
      const known = told.get(key)
      const isTold =
        told.size > 0 &&
        !this.#waiting.has(key) &&
        (known === undefined || known.ended || (known.type !== 'native' && known.type !== item['type']))
      return isTold ? [] : this.#ended(key, item, { type: 'response.output_item.done', item })
    })
  }

  #opened(key: number, item: RawJson, event: RawJson): readonly AnswerEvent[] {
    if (this.#items.has(key)) return []
    const type = textOf(item['type']) ?? ''
    if (type !== 'message' && type !== 'reasoning' && type !== 'function_call') {
      this.#items.set(key, { type: 'native', ended: false })
      return [nativeEvent(key, event)]
    }
    if (type === 'function_call' && (textOf(item['name']) ?? '') === '') return this.#wait(key, '') ?? []
    const callIndex = this.#calls
    const opened: SpokenItem = { type, callIndex, told: new Map(), annotated: new Map(), ended: false }
    this.#items.set(key, opened)
    const begin: AnswerEvent = {
      type: 'item',
      choice: 0,
      step: 'begin',
      of: type,
      fields: fieldsOf(item, ['phase', 'namespace']),
    }
    if (type !== 'function_call') return [begin]
    this.#calls += 1
    const id = textOf(item['call_id']) || toolCallId(this.#generationId, 0, callIndex)
    const waiting = this.#waiting.get(key) ?? ''
    this.#waiting.delete(key)
    return [
      begin,
      { type: 'tool_call', choice: 0, index: callIndex, id, name: textOf(item['name']) ?? '' },
      ...(waiting === '' ? [] : tell(opened, 'arguments', 0, waiting)),
    ]
  }

  #ended(key: number, item: RawJson, event: RawJson): readonly AnswerEvent[] {
    const known = this.#items.get(key)
    if (known?.ended === true) return []
    const events: AnswerEvent[] = known === undefined ? [...this.#opened(key, item, event)] : []
    const ending = known ?? this.#items.get(key)
    if (ending === undefined) return events
    ending.ended = true
    if (isSearch(item)) this.#searches += 1
    // When an unknown item was opened, its last event was passed on as well.
    if (ending.type === 'native') return known === undefined ? events : [nativeEvent(key, event)]
    events.push(...restOf(ending, item))
    events.push({
      type: 'item',
      choice: 0,
      step: 'end',
      of: ending.type,
      index: ending.callIndex,
      fields: fieldsOf(item, ['encrypted_content']),
    })
    return events
  }
}

/** Whether an item is a search; opening a page that a search found is not one. */
function isSearch(item: RawJson): boolean {
  return (
    item['type'] === 'web_search_call' &&
    item['status'] !== 'failed' &&
    (textOf(objectOf(item['action'])?.['type']) ?? 'search') === 'search'
  )
}

function indexOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}

function fieldsOf(item: RawJson, names: readonly string[]): ItemFields {
  return Object.fromEntries(names.flatMap((name) => (typeof item[name] === 'string' ? [[name, item[name]]] : [])))
}

/** The event without the provider's sequence numbers and padding, otherwise unchanged. */
function nativeEvent(key: number, event: RawJson): AnswerEvent {
  const { sequence_number: _number, obfuscation: _padding, ...own } = event
  return { type: 'item', choice: 0, step: 'native', key, event: own }
}

/** The rest of an item's texts, when the item is complete. */
function restOf(known: SpokenItem, item: RawJson): readonly AnswerEvent[] {
  if (known.type === 'function_call') return rest(known, 'arguments', [[0, textOf(item['arguments'])]])
  const content = [
    ...listOf(item['content'])
      .map((part) => objectOf(part))
      .entries(),
  ]
  if (known.type === 'reasoning') {
    const summary = rest(
      known,
      'summary',
      listOf(item['summary']).map((part, at) => [at, textOf(objectOf(part)?.['text'])]),
    )
    // If there is a summary, the thoughts themselves are sent only if some were sent before it.
    return known.told.has('summary')
      ? summary
      : [
          ...summary,
          ...rest(
            known,
            'thought',
            content.map(([at, part]) => [at, textOf(part?.['text'])]),
          ),
        ]
  }
  const refusals = content.filter(([, part]) => part?.['type'] === 'refusal')
  const texts = content.filter(([, part]) => part?.['type'] !== 'refusal')
  const annotated = renumbered(
    known.annotated,
    texts.map(([at, part]) => [at, textOf(part?.['text'])]),
    known.told.get('text'),
  )
  return [
    ...rest(
      known,
      'text',
      texts.map(([at, part]) => [at, textOf(part?.['text'])]),
    ),
    ...rest(
      known,
      'refusal',
      refusals.map(([at, part]) => [at, textOf(part?.['refusal'])]),
    ),
    ...texts.flatMap(([at, part]) =>
      annotationEvents(known, at, listOf(part?.['annotations']).slice(annotated.get(at) ?? 0)),
    ),
  ]
}

/** The rest of the parts of one kind that was not sent, each with its number in the finished item. */
function rest(
  known: SpokenItem,
  part: string,
  whole: readonly (readonly [number, string | null])[],
): readonly AnswerEvent[] {
  const before = known.told.get(part) ?? new Map<number, string>()
  const told = renumbered(before, whole, before)
  return whole.flatMap(([at, text]) => {
    const left = (text ?? '').slice(told.get(at)?.length ?? 0)
    return left === '' ? [] : tell(known, part, at, left)
  })
}

/**
 * Values by the part number of the finished item. Some services number the parts of a stream differently: then the
 * texts do not match, and the order is used instead.
 */
function renumbered<T>(
  values: ReadonlyMap<number, T>,
  whole: readonly (readonly [number, string | null])[],
  told: ReadonlyMap<number, string> = new Map(),
): ReadonlyMap<number, T> {
  const texts = new Map(whole)
  if (
    [...told].every(([at, text]) => texts.get(at)?.startsWith(text) === true) &&
    [...values.keys()].every((at) => texts.has(at))
  )
    return values
  const numbers = [...new Set([...told.keys(), ...values.keys()])].toSorted((one, other) => one - other)
  return new Map([...values].map(([at, value]) => [whole[numbers.indexOf(at)]?.[0] ?? -1, value]))
}

function tell(known: SpokenItem, part: string, at: number, text: string): readonly AnswerEvent[] {
  const isAnother = known.told.size > 0 && known.told.get(part)?.has(at) !== true
  const told = known.told.get(part) ?? new Map<number, string>()
  known.told.set(part, told.set(at, (told.get(at) ?? '') + text))
  switch (known.type) {
    case 'message':
      return [{ type: part === 'refusal' ? 'refusal' : 'text', choice: 0, text }]
    case 'reasoning':
      return [
        ...(isAnother ? [{ type: 'item', choice: 0, step: 'part' } as const] : []),
        { type: 'reasoning', choice: 0, text },
      ]
    case 'function_call':
      return [{ type: 'tool_arguments', choice: 0, index: known.callIndex, text }]
  }
}

function annotationEvents(known: SpokenItem, at: number, annotations: readonly unknown[]): readonly AnswerEvent[] {
  if (annotations.length === 0) return []
  known.annotated.set(at, (known.annotated.get(at) ?? 0) + annotations.length)
  return [{ type: 'extra', choice: 0, field: 'annotations', value: annotations }]
}
