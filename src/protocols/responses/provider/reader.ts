import { tierEvents, type AnswerEvent } from '../../../kinds/answer/event.ts'
import type { UsageReport } from '../../../kinds/chat/answer.ts'
import { inputUsage } from '../../../kinds/answer/usage.ts'
import { billed, failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import type { EventReader } from '../../upstream/events.ts'
import { countOf } from '../../answers/token-reader.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { openaiUsage } from '../../openai/provider/usage.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import { OutputItems } from './output-items.ts'
import { markedText } from '../../../kinds/answer/provenance.ts'

const FIELD = 'encrypted_content'

/**
 * Only the provider that encrypted reasoning can open it, and another one refuses the whole request. So the client's
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

/** States of a background job: no request of ours asks for one, and its cost is not known yet. */
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

  /** Another item may follow every item, so that only the last event shows that there is none. */
  get state(): AnswerState {
    return this.#done ? 'done' : 'open'
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const event = objectOf(parseJson(data))
    // Some providers send it after the last event, when nothing waits for it.
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

  /** The last event repeats the whole output: content without events of its own is read from there. */
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

  /** Searches are billed even when no tokens are reported: as the service counts them, else their items. */
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
