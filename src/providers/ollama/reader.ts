import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { failure, garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { EventReader } from '../../protocols/upstream/events.ts'
import { readToolCall } from '../../protocols/openai/provider/delta.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../protocols/wire/raw-json.ts'
import { toolCallId } from '../answers/tool-call-id.ts'
import type { UpstreamHeaders } from '../../protocols/wire/transport.ts'
import { eventFailure, upstreamFailure } from '../wire/upstream-error.ts'
import { TokenReader } from '../../protocols/answers/token-reader.ts'

/** Far beyond any honest answer: a bound on what a broken upstream makes us keep. */
const CALLS_MAX = 256
type Read = readonly AnswerEvent[] | AttemptFailure

export interface OllamaView {
  readonly generationId: string
  /** The client asked not to see thinking. */
  readonly hidesReasoning: boolean
}

/**
 * Reads one answer of `/api/chat`, or of `/api/generate`, whose text is in `response`. A plain answer is a stream of
 * one line.
 */
export class OllamaReader implements EventReader {
  readonly #view: OllamaView
  readonly #now: () => number
  #callCount = 0
  #started = false
  #said = false
  #done = false

  constructor(view: OllamaView, now: () => number) {
    this.#view = view
    this.#now = now
  }

  get done(): boolean {
    return this.#done
  }

  message(data: Buffer): Read {
    const line = objectOf(parseJson(data))
    return line === null ? garbage('not a JSON object', data) : this.#read(line)
  }

  ended(): AttemptFailure | null {
    if (this.#done) return null
    return failure(this.#started ? 'cut' : 'garbage', null, 'the stream ended without a line that is done')
  }

  whole(body: unknown): Read {
    const answer = objectOf(body)
    if (answer === null) return failure('garbage', null, 'the answer is not a JSON object')
    const read = this.#read(answer)
    return 'reason' in read ? read : (this.ended() ?? read)
  }

  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure {
    return upstreamFailure(status, body, headers, this.#now())
  }

  #read(line: RawJson): Read {
    const error = line['error'] ?? null
    if (error !== null) return eventFailure(error)
    const message = objectOf(line['message']) ?? { content: line['response'], thinking: line['thinking'] }
    const text = textOf(message['content']) ?? ''
    const thinking = textOf(message['thinking']) ?? ''
    // An empty text shows nothing, but counts as progress.
    const shown = this.#view.hidesReasoning ? '' : thinking
    const calls = this.#toolCalls(message)
    if (calls === null) return failure('garbage', null, 'the answer holds more tool calls than any answer has')
    this.#started = true
    this.#said ||= text !== '' || shown !== '' || calls.length > 0
    return [
      ...(thinking === '' ? [] : [{ type: 'reasoning' as const, choice: 0, text: shown }]),
      ...(text === '' ? [] : [{ type: 'text' as const, choice: 0, text }]),
      ...calls,
      ...(line['done'] === true ? this.#end(line) : []),
    ]
  }

  /** Each call comes whole, with an object as arguments; older versions give it no id. */
  #toolCalls(message: RawJson): readonly AnswerEvent[] | null {
    const events: AnswerEvent[] = []
    for (const raw of listOf(message['tool_calls'])) {
      const index = this.#callCount
      const call = readToolCall(raw, toolCallId(this.#view.generationId, 0, index))
      if (call === null) continue
      this.#callCount += 1
      if (this.#callCount > CALLS_MAX) return null
      events.push({ type: 'tool_call', choice: 0, index, id: call.id, name: call.name })
      if (call.arguments !== '') events.push({ type: 'tool_arguments', choice: 0, index, text: call.arguments })
    }
    return events
  }

  #end(line: RawJson): readonly AnswerEvent[] {
    this.#done = true
    const usage = ollamaUsage(line, this.#said)
    return [
      // An answer without content is the empty text.
      ...(this.#said ? [] : [{ type: 'text' as const, choice: 0, text: '' }]),
      ...(usage === null ? [] : [{ type: 'usage' as const, usage }]),
      { type: 'finish', choice: 0, native: textOf(line['done_reason']) || null },
    ]
  }
}

/**
 * The counts in an answer's last line as disjoint meters; null when it has none. Ollama leaves out counts of zero: a
 * prompt without a count was wholly cached. An answer with content never has an output of zero: without a count we
 * count it. Thinking is part of the output and has no separate count.
 */
export function ollamaUsage(line: RawJson, hasSaid: boolean): UsageReport | null {
  if ((line['prompt_eval_count'] ?? null) === null && (line['eval_count'] ?? null) === null) return null
  const tokens = new TokenReader()
  const input = tokens.added('input', line, 'prompt_eval_count')
  const output = hasSaid ? tokens.count('output', line, 'eval_count') : tokens.added('output', line, 'eval_count')
  return tokens.report({
    usage: { input, output },
    inputTokens: input,
    outputTokens: output,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  })
}
