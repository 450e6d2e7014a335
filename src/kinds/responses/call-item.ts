import type { ItemPlace, ItemStatus, OutputItem } from './output-item.ts'

/** A call of one of the client's tools, whose arguments come in pieces. */
export interface ClientCall extends OutputItem {
  add(text: string): void
}

/** The tool that is called; `fields` are other members of its item. */
export interface CalledTool {
  readonly callId: string
  readonly name: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A call of one of the client's functions. */
export class CallItem implements ClientCall {
  readonly type = 'function_call'
  readonly #place: ItemPlace
  readonly #called: CalledTool
  #arguments = ''
  #status: ItemStatus = 'in_progress'

  constructor(place: ItemPlace, called: CalledTool) {
    this.#place = place
    this.#called = called
    place.emit('response.output_item.added', { output_index: place.index, item: this.body() })
  }

  get isOpen(): boolean {
    return this.#status === 'in_progress'
  }

  add(text: string): void {
    this.#arguments += text
    this.#place.emit('response.function_call_arguments.delta', {
      item_id: this.#place.id,
      output_index: this.#place.index,
      delta: text,
    })
  }

  close(status: 'completed' | 'incomplete'): void {
    const { id, index, emit } = this.#place
    this.#status = status
    emit('response.function_call_arguments.done', {
      item_id: id,
      output_index: index,
      name: this.#called.name,
      arguments: this.#arguments,
    })
    emit('response.output_item.done', { output_index: index, item: this.body() })
  }

  body(): Record<string, unknown> {
    const { callId, name, fields } = this.#called
    return {
      type: 'function_call',
      id: this.#place.id,
      call_id: callId,
      name,
      arguments: this.#arguments,
      status: this.#status,
      ...fields,
    }
  }
}
