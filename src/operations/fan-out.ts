import type { AnswerEvent } from '../kinds/answer/event.ts'
import type { UsageReport } from '../kinds/chat/answer.ts'
import { sumUsage } from '../kinds/answer/usage.ts'
import type { AnswerSink, RunningCall } from '../protocols/ports/call.ts'

type Ask = (sink: AnswerSink) => RunningCall

/**
 * Makes several calls at once and returns their answers as choices of one: `n` each, numbered consecutively. A failure
 * ends all.
 */
export function fanOut(asks: readonly Ask[], n: number, sink: AnswerSink): RunningCall {
  const [only] = asks
  return asks.length === 1 && only !== undefined ? only(sink) : new FanOut(asks, n, sink)
}

class FanOut implements RunningCall {
  readonly #sink: AnswerSink
  readonly #calls: readonly RunningCall[]
  readonly #usage: (UsageReport | null)[]
  #left: number
  #answered = false
  #over = false

  constructor(asks: readonly Ask[], n: number, sink: AnswerSink) {
    this.#sink = sink
    this.#left = asks.length
    this.#usage = asks.map(() => null)
    this.#calls = asks.map((ask, position) => ask(this.#sinkOf(position, position * n)))
  }

  cancel(): void {
    this.#over = true
    for (const call of this.#calls) call.cancel()
  }

  resume(): void {
    for (const call of this.#calls) call.resume()
  }

  #sinkOf(position: number, firstChoice: number): AnswerSink {
    return {
      headers: () => {
        if (!this.#over && !this.#answered) this.#sink.headers()
        this.#answered = true
      },
      push: (events) => {
        if (this.#over) return true
        const passed = events.flatMap((event) => this.#taken(event, position, firstChoice))
        return passed.length === 0 || this.#sink.push(passed)
      },
      end: () => {
        this.#left -= 1
        if (this.#over || this.#left > 0) return
        this.#over = true
        this.#sink.end()
      },
      fail: (failure) => {
        if (this.#over) return
        this.cancel()
        this.#sink.fail(failure)
      },
    }
  }

  #taken(event: AnswerEvent, position: number, firstChoice: number): readonly AnswerEvent[] {
    switch (event.type) {
      case 'usage':
        this.#usage[position] = event.usage
        return [{ type: 'usage', usage: this.#told() }]
      case 'origin':
        return position === 0 ? [event] : []
      case 'spliced':
        throw new Error('A fan-out offers no splice.')
      case 'wire':
        throw new Error('A fan-out asks chats, which carry no bytes of their provider.')
      case 'text':
      case 'reasoning':
      case 'refusal':
      case 'tool_call':
      case 'tool_arguments':
      case 'extra':
      case 'item':
      case 'finish':
        return [{ ...event, choice: event.choice + firstChoice }]
    }
  }

  /** The usage reported so far: it is billed, however the calls end. */
  #told(): UsageReport {
    const known = this.#usage.filter((usage) => usage !== null)
    const whole = sumUsage(known)
    return known.length < this.#usage.length ? { ...whole, missing: ['input', 'output'] } : whole
  }
}
