import type { AnswerEvent } from './event.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const CLOSE = 0x7d

/** Finds the end of a JSON object that comes in pieces, without storing them. */
export class ObjectEnd {
  #depth = 0
  #inString = false
  #escaped = false
  #reached = false

  /** Whether the closing brace has come. */
  get reached(): boolean {
    return this.#reached
  }

  /** Returns how many characters of the piece belong to the object. */
  add(piece: string): number {
    let at = 0
    for (; at < piece.length && !this.#reached; at += 1) this.#step(piece.charCodeAt(at))
    return at
  }

  #step(char: number): void {
    if (this.#escaped) this.#escaped = false
    else if (this.#inString && char === BACKSLASH) this.#escaped = true
    else if (char === QUOTE) this.#inString = !this.#inString
    else if (this.#inString) return
    else if (char === OPEN) this.#depth += 1
    else if (char === CLOSE) {
      this.#depth -= 1
      this.#reached = this.#depth <= 0
    }
  }
}

type ArgumentsEvent = Extract<AnswerEvent, { type: 'tool_arguments' }>

interface OpenCall extends Pick<ArgumentsEvent, 'choice' | 'index'> {
  /** `unknown` until the first letter shows it; `text` = it is no object, and is put into one. */
  form: 'unknown' | 'object' | 'text'
  held: string
  readonly end: ObjectEnd
}

/**
 * Makes the arguments of each call one JSON object, in plain answers and streams alike (wire.md D-3.2): the first
 * object of several, `{}` in place of nothing or null, and `{"arguments": "…"}` around anything else. Objects pass
 * unchanged.
 */
export class CallArguments {
  readonly #calls = new Map<string, OpenCall>()

  /** The events with correct arguments; the same array if nothing needs a correction. */
  mended(events: readonly AnswerEvent[]): readonly AnswerEvent[] {
    return events.some(isOfCalls) || (this.#calls.size > 0 && events.some(isEnd))
      ? events.flatMap((event) => this.#mended(event))
      : events
  }

  /** The events that complete the calls at the end of the answer. */
  rest(): readonly AnswerEvent[] {
    return this.#ended(() => true)
  }

  #mended(event: AnswerEvent): readonly AnswerEvent[] {
    switch (event.type) {
      case 'tool_call': {
        const { choice, index } = event
        const before = this.#ended((call) => call.choice === choice && call.index === index)
        this.#calls.set(`${choice} ${index}`, { choice, index, form: 'unknown', held: '', end: new ObjectEnd() })
        return [...before, event]
      }
      case 'tool_arguments': {
        const call = this.#calls.get(`${event.choice} ${event.index}`)
        return call === undefined ? [] : piece(call, added(call, event.text))
      }
      case 'finish':
        // Some providers send more text after the object.
        return [...this.#ended(({ choice, form }) => choice === event.choice && form !== 'object'), event]
      case 'item':
        return event.step === 'end' && event.of === 'function_call'
          ? [...this.#ended(({ choice, index }) => choice === event.choice && index === event.index), event]
          : [event]
      case 'text':
      case 'reasoning':
      case 'refusal':
      case 'extra':
      case 'wire':
      case 'spliced':
      case 'usage':
      case 'origin':
        return [event]
    }
  }

  #ended(isMeant: (call: OpenCall) => boolean): readonly AnswerEvent[] {
    return [...this.#calls].flatMap(([name, call]) => {
      if (!isMeant(call)) return []
      this.#calls.delete(name)
      return piece(call, call.form === 'unknown' ? '{}' : call.form === 'text' ? '"}' : '')
    })
  }
}

function isOfCalls({ type }: AnswerEvent): boolean {
  return type === 'tool_call' || type === 'tool_arguments'
}

function isEnd(event: AnswerEvent): boolean {
  return event.type === 'finish' || (event.type === 'item' && event.step === 'end')
}

function piece({ choice, index }: OpenCall, text: string): readonly ArgumentsEvent[] {
  return text === '' ? [] : [{ type: 'tool_arguments', choice, index, text }]
}

/** The arguments that the client gets for a piece. */
function added(call: OpenCall, text: string): string {
  if (call.form === 'object') return text.slice(0, call.end.add(text))
  if (call.form === 'text') return escaped(text)
  call.held += text
  const known = call.held.trimStart()
  if (known.startsWith('{')) {
    call.form = 'object'
    return known.slice(0, call.end.add(known))
  }
  if ('null'.startsWith(known.trimEnd())) return ''
  call.form = 'text'
  return `{"arguments":"${escaped(known)}`
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
