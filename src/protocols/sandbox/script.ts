import type { ChatMessage, ChatRequest } from '../../kinds/chat/request.ts'

/** What a `sandbox: key=value …` line of the last user text asks for (operator.md 3). */
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

/** The script lines of a text, without line ends: a pattern that begins with blanks took 240 ms for 10 MB. */
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
