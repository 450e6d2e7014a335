import type { CalledTool, ClientCall } from './call-item.ts'
import type { ItemPlace, ItemStatus } from './output-item.ts'
import { TextArgument } from './text-argument.ts'

/** A call of a custom tool, whose input is one text. The chat model called a function with it. */
export class CustomCallItem implements ClientCall {
  readonly type = 'client_call'
  readonly #place: ItemPlace
  readonly #called: CalledTool
  readonly #argument = new TextArgument()
  #input = ''
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
    this.#say(this.#argument.add(text))
  }

  close(status: 'completed' | 'incomplete'): void {
    const { id, index, emit } = this.#place
    this.#say(this.#argument.end())
    this.#status = status
    emit('response.custom_tool_call_input.done', { item_id: id, output_index: index, input: this.#input })
    emit('response.output_item.done', { output_index: index, item: this.body() })
  }

  body(): Record<string, unknown> {
    const { callId, name, fields } = this.#called
    return {
      type: 'custom_tool_call',
      id: this.#place.id,
      call_id: callId,
      name,
      input: this.#input,
      status: this.#status,
      ...fields,
    }
  }

  #say(text: string): void {
    if (text === '') return
    const { id, index, emit } = this.#place
    this.#input += text
    emit('response.custom_tool_call_input.delta', { item_id: id, output_index: index, delta: text })
  }
}
