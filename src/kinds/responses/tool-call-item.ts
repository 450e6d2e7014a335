import { isObject } from '../fields/json-fields.ts'
import type { ClientCall } from './call-item.ts'
import type { ItemPlace, ItemStatus } from './output-item.ts'

/**
 * A search for tools, or a command of the client's shell. The chat model called a function with it; the item has the
 * arguments as an object, so it waits until they are complete.
 */
export class ToolCallItem implements ClientCall {
  readonly type = 'client_call'
  readonly #place: ItemPlace
  readonly #callId: string
  readonly #tool: 'tool_search' | 'local_shell'
  #arguments = ''
  #status: ItemStatus = 'in_progress'

  constructor(place: ItemPlace, callId: string, tool: 'tool_search' | 'local_shell') {
    this.#place = place
    this.#callId = callId
    this.#tool = tool
    place.emit('response.output_item.added', { output_index: place.index, item: this.body() })
  }

  get isOpen(): boolean {
    return this.#status === 'in_progress'
  }

  add(text: string): void {
    this.#arguments += text
  }

  close(status: 'completed' | 'incomplete'): void {
    this.#status = status
    this.#place.emit('response.output_item.done', { output_index: this.#place.index, item: this.body() })
  }

  body(): Record<string, unknown> {
    const given = this.isOpen ? {} : objectIn(this.#arguments)
    return {
      type: `${this.#tool}_call`,
      id: this.#place.id,
      call_id: this.#callId,
      status: this.#status,
      ...(this.#tool === 'tool_search' ? { execution: 'client', arguments: given } : { action: shellAction(given) }),
    }
  }
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
