import { GrownText } from '../../../kinds/answer/grown-text.ts'
import { isObject } from '../../../kinds/fields/json-fields.ts'
import { WrittenItem, type ItemPlace } from './output-item.ts'
import { TextArgument } from '../../../kinds/responses/text-argument.ts'

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

/** A call of a custom tool, whose input is one text. The chat model called a function with it. */
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
 * A search for tools, or a command of the client's shell. The chat model called a function with it; the item has the
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

/** The object in a model's text; empty where it is none. */
function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
