import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { UsageReport } from '../../../kinds/chat/answer.ts'
import { inputUsage } from '../../../kinds/answer/input-usage.ts'
import { failure, garbage, type AttemptFailure } from '../../../providers/ports/attempt-failure.ts'
import type { EventReader } from '../../upstream/events.ts'
import { openaiUsage } from '../../../providers/openai/usage.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import type { UpstreamHeaders } from '../../wire/transport.ts'
import { eventFailure, upstreamFailure } from '../../../providers/wire/upstream-error.ts'
import { OutputItems } from './output-items.ts'
import { marked } from '../../../providers/openai/responses/provenance.ts'

/** States of a background job: no request of ours asks for one, and its cost is not known yet. */
const PENDING = ['queued', 'in_progress']
const ENDS = ['response.completed', 'response.incomplete']
/** Statuses of known error codes inside a 200. */
const STATUSES: ReadonlyMap<unknown, number> = new Map([
  ['rate_limit_exceeded', 429],
  ['context_length_exceeded', 400],
  ['invalid_prompt', 400],
])

/** Reads one answer of the Responses protocol. */
export class ResponsesReader implements EventReader {
  readonly #items: OutputItems
  readonly #now: () => number
  readonly #provider: string
  #named = false
  #done = false

  /** `provider` marks its encrypted reasoning. */
  constructor(generationId: string, now: () => number, provider: string) {
    this.#items = new OutputItems(generationId)
    this.#now = now
    this.#provider = provider
  }

  get done(): boolean {
    return this.#done
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const event = objectOf(parseJson(data))
    // Some providers send it after the last event, when nothing waits for it.
    if (event === null) return data.toString('latin1') === '[DONE]' ? [] : garbage('not a JSON object', data)
    const type = textOf(event['type']) ?? ''
    const response = objectOf(event['response'])
    if (type === 'error') return this.#failed(event['error'] ?? event)
    if (type === 'response.failed') return this.#failed(response?.['error'])
    const events = this.#origin(response)
    if (ENDS.includes(type)) {
      this.#done = true
      return this.#end(events, response ?? {}, type)
    }
    const before = this.#items.searches
    const read = this.#items.read(type, event)
    if (read === null) return tooMany()
    return [...events, ...marked(read, this.#provider), ...(this.#items.searches > before ? this.#usage(null) : [])]
  }

  ended(): AttemptFailure | null {
    return this.#done
      ? null
      : failure(this.#named ? 'cut' : 'garbage', null, 'the stream ended without a terminal event')
  }

  whole(body: unknown): readonly AnswerEvent[] | AttemptFailure {
    const response = objectOf(body)
    const error = response?.['error'] ?? null
    if (error !== null) return this.#failed(error)
    if (response === null || !Array.isArray(response['output']))
      return failure('garbage', null, 'the answer is not a response')
    const status = textOf(response['status']) ?? 'completed'
    if (PENDING.includes(status))
      return {
        ...failure('garbage', null, `the answer is a response that is ${status}`),
        said: `the response was put into a queue (${status}), and nobody asked for that: its answer would have to be fetched later`,
      }
    if (status !== 'completed' && status !== 'incomplete')
      return failure('garbage', null, `the answer is a response that is ${status}`)
    return this.#end(this.#origin(response), response, `response.${status}`)
  }

  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure {
    return upstreamFailure(status, body, headers, this.#now())
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
    return [...events, ...this.#usage(openaiUsage(response['usage']))]
  }

  /** Searches are billed even when no tokens are reported. */
  #usage(report: UsageReport | null): readonly AnswerEvent[] {
    const { searches } = this.#items
    if (searches === 0) return report === null ? [] : [{ type: 'usage', usage: report }]
    const usage = report ?? { ...inputUsage({ tokens: null }), missing: ['input', 'output'] }
    return [{ type: 'usage', usage: { ...usage, usage: { ...usage.usage, search: searches } } }]
  }

  #failed(error: unknown): AttemptFailure {
    const status = STATUSES.get(objectOf(error)?.['code'])
    return status === undefined
      ? eventFailure(error ?? 'the response failed')
      : { ...upstreamFailure(status, { error }, {}, this.#now()), reason: 'error_event' }
  }
}

function tooMany(): AttemptFailure {
  return failure('garbage', null, 'the answer holds more items than any answer has')
}
