import type { Clock } from '../../base/clock.ts'
import type { ChatMessage, ChatRequest } from '../../kinds/chat/request.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import type { AnswerSink, ResultSink, RunningCall } from '../ports/call.ts'
import { inSteps, StepFailedError } from '../upstream/steps.ts'
import { refusalOfStatus } from '../wire/refusal-verdict.ts'

/** The requests of a line `sandbox: key=value …` in the last user text (operator.md 3). */
export interface SandboxScript {
  /** 0 = an empty answer. */
  readonly words: number | null
  readonly delayMs: number
  /** Milliseconds between two events of a stream. */
  readonly gapMs: number
  readonly status: number | null
  /** The number of events after which the provider sends an error. */
  readonly error: number | null
  readonly tool: string | null
}

const MARK = /sandbox:/gi
const LINE_END = /[\n\r\u2028\u2029]/
const WORDS_MAX = 100_000
const MILLIS_MAX = 600_000

/** Text of the last user message, its parts joined. */
export function lastUserText(request: ChatRequest): string {
  const message = request.messages.findLast(({ role }) => role === 'user')
  return message === undefined ? '' : contentText(message)
}

export function contentText(message: ChatMessage): string {
  if (typeof message.content === 'string') return message.content
  return (message.content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** The last of several texts that contains a script. */
export function scriptedText(texts: readonly string[]): string {
  return texts.findLast((text) => text.includes('sandbox:')) ?? ''
}

/** The text without its script lines. */
export function plainText(text: string): string {
  let plain = ''
  let at = 0
  for (const { start, end } of linesOf(text)) {
    plain += text.slice(at, start)
    at = end
  }
  return (plain + text.slice(at)).trim()
}

/**
 * The script lines of a text, without line ends. They are found without a pattern: one that begins with blanks took 240
 * ms for 10 MB.
 */
function* linesOf(text: string): Generator<{ readonly start: number; readonly mark: number; readonly end: number }> {
  MARK.lastIndex = 0
  for (let found = MARK.exec(text); found !== null; found = MARK.exec(text)) {
    let start = found.index
    while (start > 0 && (text[start - 1] === ' ' || text[start - 1] === '\t')) start -= 1
    if (start > 0 && !LINE_END.test(text[start - 1] ?? '')) continue
    const rest = text.slice(MARK.lastIndex).search(LINE_END)
    const end = rest === -1 ? text.length : MARK.lastIndex + rest
    yield { start, mark: MARK.lastIndex, end }
    MARK.lastIndex = end
  }
}

/** Reads the script; unknown keys and unreadable values are ignored, since a prompt may say anything. */
export function readScript(text: string): SandboxScript {
  const wishes = new Map<string, string>()
  for (const { mark, end } of linesOf(text)) {
    for (const word of text.slice(mark, end).trim().split(/\s+/)) {
      const at = word.indexOf('=')
      if (at > 0) wishes.set(word.slice(0, at), word.slice(at + 1))
    }
  }
  const status = whole(wishes.get('status'), 599)
  return {
    words: whole(wishes.get('words'), WORDS_MAX),
    delayMs: whole(wishes.get('delay_ms'), MILLIS_MAX) ?? 0,
    gapMs: whole(wishes.get('gap_ms'), MILLIS_MAX) ?? 0,
    status: status === null || status < 400 ? null : status,
    error: whole(wishes.get('error'), WORDS_MAX),
    tool: wishes.get('tool') ?? null,
  }
}

function whole(value: string | undefined, most: number): number | null {
  if (value === undefined || !/^\d{1,9}$/.test(value)) return null
  return Math.min(Number(value), most)
}

export function failureOf(reason: AttemptFailure['reason'], status: number | null, detail: string): AttemptFailure {
  const words =
    status !== null && status < 500 && status !== 429 ? `The sandbox was asked to fail with ${status}` : null
  return {
    reason,
    status,
    publicMessage: words,
    said: words,
    refusal: refusalOfStatus(status),
    retryAfterSeconds: status === 429 ? 1 : null,
    detail,
  }
}

/** The failure that a script sets for a plain answer. */
function plainFailure(script: SandboxScript): AttemptFailure | null {
  if (script.status !== null) return failureOf('status', script.status, 'status by script')
  return script.error === null ? null : failureOf('error_event', 502, 'error by script')
}

/** An answer that comes whole after the script's delay, or the failure that the script asks for. */
export function answerOnce(
  script: SandboxScript,
  clock: Clock,
  sink: Pick<AnswerSink, 'headers' | 'fail'>,
  tell: () => void,
): RunningCall {
  const stop = clock.after(script.delayMs, () => {
    const failure = plainFailure(script)
    if (failure?.reason !== 'status') sink.headers()
    if (failure === null) tell()
    else sink.fail(failure)
  })
  return { cancel: () => stop(), resume: () => undefined }
}

/** The same with a single result; what `answer` throws is a failure too. Without a delay nothing waits for the clock. */
export function resultOnce<Result extends object>(
  script: SandboxScript,
  clock: Clock,
  sink: ResultSink<Result>,
  answer: () => Result | AttemptFailure | Promise<Result | AttemptFailure>,
): RunningCall {
  return inSteps(async ({ signal, headers }) => {
    // A call that nobody waits for any more stays here.
    if (script.delayMs > 0)
      await new Promise<void>((resolve) =>
        signal.addEventListener('abort', clock.after(script.delayMs, resolve), { once: true }),
      )
    const found = plainFailure(script)
    if (found?.reason !== 'status') headers()
    if (found !== null) throw new StepFailedError(found)
    const result = await answer()
    if ('reason' in result) throw new StepFailedError(result)
    return result
  }, sink)
}

/** An answer in pieces. */
export interface ScriptedAnswer {
  /** Sends the head of the answer. */
  begin(): void
  /** The number of the script's events before a piece; null = the script cannot fail there. */
  eventsBefore(piece: number): number | null
  /** Sends a piece; false = the client asks for a pause, null = the answer is complete. */
  send(piece: number): boolean | null
  end(): void
  fail(failure: AttemptFailure): void
}

/** Plays an answer by its script: delay, gaps and faults, with pauses for the client. */
export class ScriptedCall implements RunningCall {
  readonly #answer: ScriptedAnswer
  readonly #script: SandboxScript
  readonly #clock: Clock
  #next = 0
  #paused = false
  #over = false
  #stop: () => void

  constructor(answer: ScriptedAnswer, script: SandboxScript, clock: Clock) {
    this.#answer = answer
    this.#script = script
    this.#clock = clock
    this.#stop = clock.after(script.delayMs, () => this.#begin())
  }

  cancel(): void {
    this.#over = true
    this.#stop()
  }

  resume(): void {
    if (!this.#paused || this.#over) return
    this.#paused = false
    this.#run()
  }

  #begin(): void {
    if (this.#script.status !== null) return this.#fail(failureOf('status', this.#script.status, 'status by script'))
    this.#answer.begin()
    this.#run()
  }

  /** Sends pieces until the end, the next gap or a pause. */
  #run(): void {
    while (!this.#over && !this.#paused) {
      if (this.#script.error !== null && this.#script.error === this.#answer.eventsBefore(this.#next))
        return this.#fail(failureOf('error_event', 502, 'error by script'))
      const hasRoom = this.#answer.send(this.#next)
      if (hasRoom === null) {
        this.#over = true
        return this.#answer.end()
      }
      this.#next += 1
      if (!hasRoom) this.#paused = true
      else if (this.#script.gapMs > 0) {
        this.#stop = this.#clock.after(this.#script.gapMs, () => this.#run())
        return
      }
    }
  }

  #fail(failure: AttemptFailure): void {
    if (this.#over) return
    this.#over = true
    this.#answer.fail(failure)
  }
}
