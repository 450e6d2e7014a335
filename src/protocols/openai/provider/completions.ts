import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { namedReason } from '../../../kinds/answer/finish-reason.ts'
import type { JsonBytes } from '../../../base/json-text.ts'
import { SAMPLING_PARAMETERS } from '../../../tables/parameter-table.ts'
import type { Adapter } from '../../ports/adapter.ts'
import { failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { takesOf, type CompletionsCall, type JsonRequest } from '../../ports/call.ts'
import { logprobsOf } from '../../wire/lifted-logprobs.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { askCompletions, sseMessages, type EventReader } from '../../upstream/events.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { isErrorBody } from '../../wire/error-body.ts'
import { openaiErrorBody, openaiUsage } from './usage.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'

const PATH = '/completions'
const DONE = Buffer.from('[DONE]')
/** Parameters that completions and chat spell alike. */
const SHARED = [...SAMPLING_PARAMETERS, 'logit_bias', 'user']
/** More choices than a request can ask for: a bound on what a broken upstream makes us keep. */
const CHOICES_MAX = 256

/** OpenAI's legacy completions and every dialect of them. */
export function openaiCompletions(transport: Transport): NonNullable<Adapter['completions']> {
  return askCompletions(transport, true, {
    request: requestOf,
    reader: ({ request, prompts }) => new CompletionsReader(request.chat.n * prompts.length),
    decoder: sseMessages,
  })
}

function requestOf({ endpoint, apiKey, request, prompts, sendMaxTokens }: CompletionsCall): JsonRequest {
  const { chat, suffix, echo, logprobs, bestOf } = request
  const { upstreamModel, provider } = endpoint
  const takes = takesOf(endpoint)
  const body: Record<string, unknown> = { model: upstreamModel, prompt: prompts.length === 1 ? prompts[0] : prompts }
  if (sendMaxTokens !== null) body['max_tokens'] = sendMaxTokens
  if (chat.n > 1) body['n'] = chat.n
  if (chat.stream) body['stream'] = true
  if (chat.stream && provider.dialect.streamUsage) body['stream_options'] = { include_usage: true }
  for (const name of SHARED) if (chat.parameters[name] !== undefined && takes(name)) body[name] = chat.parameters[name]
  if (suffix !== null) body['suffix'] = suffix
  if (echo) body['echo'] = true
  if (logprobs !== null && takes('logprobs')) body['logprobs'] = logprobs
  if (bestOf !== null) body['best_of'] = bestOf
  return { path: PATH + provider.dialect.query, body, headers: keyHeaders(provider.dialect, apiKey) }
}

/** Reads one answer of the completions protocol. */
class CompletionsReader implements EventReader {
  readonly #choicesAsked: number
  readonly #finished = new Map<number, boolean>()
  #named = false
  #done = false

  constructor(choicesAsked: number) {
    this.#choicesAsked = choicesAsked
  }

  get state(): AnswerState {
    if (this.#done) return 'done'
    return this.#finished.size >= this.#choicesAsked && this.#isFinished ? 'finished' : 'open'
  }

  get #isFinished(): boolean {
    return this.#finished.size > 0 && [...this.#finished.values()].every(Boolean)
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    if (data.equals(DONE)) {
      this.#done = true
      return []
    }
    const chunk = objectOf(parseJson(data))
    return chunk === null ? garbage('not a JSON object', data) : this.#read(chunk, [])
  }

  ended(): AttemptFailure | null {
    return this.#done || this.#isFinished
      ? null
      : failure(
          this.#finished.size === 0 ? 'garbage' : 'cut',
          null,
          'the stream ended without [DONE] or a finish_reason',
        )
  }

  whole(body: unknown, logprobs: readonly JsonBytes[] = []): readonly AnswerEvent[] | AttemptFailure {
    const answer = objectOf(body)
    if (answer === null || (!isErrorBody(answer) && !Array.isArray(answer['choices'])))
      return failure('garbage', null, 'the answer is not a completion')
    return this.#read(answer, logprobs)
  }

  #read(answer: RawJson, lifted: readonly JsonBytes[]): readonly AnswerEvent[] | AttemptFailure {
    if (isErrorBody(answer)) return openaiErrorBody(answer)
    const events: AnswerEvent[] = []
    const upstreamId = textOf(answer['id'])
    if (!this.#named && upstreamId !== null)
      events.push({ type: 'origin', upstreamId, systemFingerprint: textOf(answer['system_fingerprint']) })
    this.#named ||= upstreamId !== null
    for (const [position, raw] of listOf(answer['choices']).entries())
      for (const event of this.#choice(objectOf(raw) ?? {}, position, lifted)) events.push(event)
    if (this.#finished.size > CHOICES_MAX)
      return failure('garbage', null, 'the answer holds more choices than were asked for')
    const usage = openaiUsage(answer['usage'])
    if (usage !== null) events.push({ type: 'usage', usage })
    return events
  }

  #choice(raw: RawJson, position: number, lifted: readonly JsonBytes[]): readonly AnswerEvent[] {
    const index = raw['index']
    const choice = typeof index === 'number' && Number.isSafeInteger(index) && index >= 0 ? index : position
    const logprobs = logprobsOf(raw['logprobs'], lifted)
    const native = namedReason(raw['finish_reason'])
    this.#finished.set(choice, native !== null || this.#finished.get(choice) === true)
    const events: AnswerEvent[] = [
      { type: 'text', choice, text: textOf(raw['text']) ?? '', ...(logprobs === null ? {} : { logprobs }) },
    ]
    return native === null ? events : [...events, { type: 'finish', choice, native }]
  }
}
