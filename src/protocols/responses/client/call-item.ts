import { GrownText } from '../../../kinds/answer/grown-text.ts'
import { isObject } from '../../../kinds/fields/body-fields.ts'
import { WrittenItem, type ItemPlace } from './output-item.ts'

/** The beginning of a model's arguments, up to the text. */
const OPENING = /^\s*\{\s*"input"\s*:\s*"/
const OPENING_CHARS_MAX = 64
/** Characters that end a piece of plain text. */
const SPECIAL = /["\\]/g
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
])

/**
 * The text of `{"input": "…"}` as it comes. Arguments in another form are sent at their end, when they can be read
 * whole: a model that ignores the schema still means something by them.
 */
export class TextArgument {
  /** Everything before the text begins, or all arguments in another form. */
  #unread = ''
  #state: 'opening' | 'text' | 'other' | 'over' = 'opening'

  /** The text that this piece adds. */
  add(piece: string): string {
    if (this.#state === 'over') return ''
    this.#unread += piece
    if (this.#state === 'opening') this.#open()
    return this.#state === 'text' ? this.#read() : ''
  }

  /** The text that is known only at the end. */
  end(): string {
    const rest = this.#unread
    const wasWhole = this.#state === 'opening' || this.#state === 'other'
    this.#state = 'over'
    this.#unread = ''
    return wasWhole ? wholeText(rest) : ''
  }

  #open(): void {
    const opening = OPENING.exec(this.#unread.slice(0, OPENING_CHARS_MAX))
    if (opening !== null) {
      this.#unread = this.#unread.slice(opening[0].length)
      this.#state = 'text'
    } else if (this.#unread.length >= OPENING_CHARS_MAX) this.#state = 'other'
  }

  /** Reads as far as possible; an unfinished escape waits for its rest. */
  #read(): string {
    const given = this.#unread
    let text = ''
    let at = 0
    for (;;) {
      SPECIAL.lastIndex = at
      const found = SPECIAL.exec(given)
      text += given.slice(at, found?.index)
      if (found === null) return this.#rest('', text)
      at = found.index
      if (given[at] === '"') {
        this.#state = 'over'
        return this.#rest('', text)
      }
      const escape = escapeAt(given, at)
      if (escape === null) return this.#rest(given.slice(at), text)
      text += escape.text
      at += escape.chars
    }
  }

  #rest(unread: string, text: string): string {
    this.#unread = unread
    return text
  }
}

/** null = the rest has not come yet. A surrogate pair is two escapes, whose halves join by themselves. */
function escapeAt(text: string, at: number): { readonly text: string; readonly chars: number } | null {
  const letter = text[at + 1]
  if (letter === undefined) return null
  if (letter !== 'u') return { text: ESCAPES.get(letter) ?? letter, chars: 2 }
  const digits = text.slice(at + 2, at + 6)
  if (digits.length < 4) return null
  const code = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 0xfffd
  return { text: String.fromCharCode(code), chars: 6 }
}

/** `input`, or the only text among the arguments, or everything that the model wrote. */
function wholeText(given: string): string {
  const value = parsed(given)
  if (typeof value === 'string') return value
  if (!isObject(value)) return given
  const { input } = value
  if (typeof input === 'string') return input
  const texts = Object.values(value).filter((each) => typeof each === 'string')
  return texts.length === 1 ? (texts[0] ?? '') : given
}

function parsed(given: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    return null
  }
}

/** A call of one of the client's tools, whose arguments come in pieces. */
export interface ClientCall extends WrittenItem {
  add(text: string): void
}

/** The tool that is called; `fields` are other members of its item. */
export interface CalledTool {
  readonly callId: string
  readonly name: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A call of one of the client's functions. */
export class CallItem extends WrittenItem implements ClientCall {
  readonly #called: CalledTool
  readonly #arguments = new GrownText()

  constructor(place: ItemPlace, called: CalledTool) {
    super(place)
    this.#called = called
    this.begin()
  }

  add(text: string): void {
    this.#arguments.add(text)
    this.emit('function_call_arguments.delta', { delta: text })
  }

  body(): Record<string, unknown> {
    const { callId, name, fields } = this.#called
    return {
      type: 'function_call',
      id: this.id,
      call_id: callId,
      name,
      arguments: this.#arguments.toString(),
      status: this.status,
      ...fields,
    }
  }

  protected finish(): void {
    this.emit('function_call_arguments.done', { name: this.#called.name, arguments: this.#arguments.toString() })
  }
}

/** A call of a custom tool, whose input is one text. The chat model called a function for it. */
export class CustomCallItem extends WrittenItem implements ClientCall {
  readonly #called: CalledTool
  readonly #argument = new TextArgument()
  readonly #input = new GrownText()

  constructor(place: ItemPlace, called: CalledTool) {
    super(place)
    this.#called = called
    this.begin()
  }

  add(text: string): void {
    this.#say(this.#argument.add(text))
  }

  body(): Record<string, unknown> {
    const { callId, name, fields } = this.#called
    return {
      type: 'custom_tool_call',
      id: this.id,
      call_id: callId,
      name,
      input: this.#input.toString(),
      status: this.status,
      ...fields,
    }
  }

  protected finish(): void {
    this.#say(this.#argument.end())
    this.emit('custom_tool_call_input.done', { input: this.#input.toString() })
  }

  #say(text: string): void {
    if (text === '') return
    this.#input.add(text)
    this.emit('custom_tool_call_input.delta', { delta: text })
  }
}

/**
 * A search for tools, or a command for the client's shell. The chat model called a function for it. The item has the
 * arguments as an object, so it waits until they are complete.
 */
export class ToolCallItem extends WrittenItem implements ClientCall {
  readonly #callId: string
  readonly #tool: 'tool_search' | 'local_shell'
  readonly #arguments = new GrownText()

  constructor(place: ItemPlace, callId: string, tool: 'tool_search' | 'local_shell') {
    super(place)
    this.#callId = callId
    this.#tool = tool
    this.begin()
  }

  add(text: string): void {
    this.#arguments.add(text)
  }

  body(): Record<string, unknown> {
    const given = this.isOpen ? {} : objectIn(this.#arguments.toString())
    return {
      type: `${this.#tool}_call`,
      id: this.id,
      call_id: this.#callId,
      status: this.status,
      ...(this.#tool === 'tool_search' ? { execution: 'client', arguments: given } : { action: shellAction(given) }),
    }
  }

  protected finish(): void {}
}

/** Some models write the command as one string. */
function shellAction(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { command } = given
  const words = typeof command === 'string' ? ['sh', '-c', command] : Array.isArray(command) ? command : []
  return { env: {}, ...given, type: 'exec', command: words }
}

/** The object in a model's text; empty = it is none. */
function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
