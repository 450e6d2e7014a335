import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { ObjectEnd } from '../../../kinds/answer/call-arguments.ts'
import { CLAUDE_REASONING } from '../../models/claude-thinking.ts'
import { plainDetail } from '../../../kinds/chat/thoughts.ts'
import { isObject } from '../../../kinds/fields/body-fields.ts'
import { encodeDetails } from '../../../kinds/answer/provenance.ts'
import type { JsonObject } from '../../../base/json-text.ts'

/** A step of a content block, as a stream sends it. */
export type BlockStep =
  | { readonly type: 'content_block_start'; readonly index: number; readonly content_block: JsonObject }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: JsonObject }
  | { readonly type: 'content_block_stop'; readonly index: number }

interface OpenToolBlock {
  readonly index: number
  readonly arguments: ObjectEnd
}

/**
 * Builds a message's content blocks from the events of any provider's answer. One block of text or thinking is open at
 * a time. A call stays open until its arguments are complete, since several calls' arguments may be interleaved.
 */
export class ContentBlocks {
  readonly #emit: (step: BlockStep) => void
  readonly #omitsThinking: boolean
  #count = 0
  #open: { readonly type: 'text' | 'thinking'; readonly index: number; isSigned: boolean } | null = null
  readonly #calls = new Map<number, OpenToolBlock>()
  #newest: number | null = null
  /** Details of other makers' models: they travel as the signature of their thinking. */
  #details: unknown[] = []
  /** Thoughts that the client does not want to see, without a signature: they travel as one. */
  #omitted = ''
  /** Citations may come before their text. */
  #citations: JsonObject[] = []

  constructor(emit: (step: BlockStep) => void, omitsThinking: boolean) {
    this.#emit = emit
    this.#omitsThinking = omitsThinking
  }

  add(event: AnswerEvent): void {
    // A message has one answer; further choices of a provider are ignored.
    if ('choice' in event && event.choice !== 0) return
    switch (event.type) {
      case 'text':
      case 'refusal':
        return event.text === '' ? undefined : this.#say(event.text)
      case 'reasoning':
        return event.text === '' ? undefined : this.#think(event.text)
      case 'tool_call':
        return this.#call(event.index, event.id, event.name)
      case 'tool_arguments':
        return this.#arguments(event.index, event.text)
      case 'extra':
        if (!Array.isArray(event.value)) return
        if (event.field === 'reasoning_details') for (const detail of event.value) this.#detail(detail)
        if (event.field === 'annotations') for (const annotation of event.value) this.#cite(annotation)
        return
      case 'spliced':
        throw new Error('Nothing is spliced into a message.')
      case 'item':
      case 'finish':
      case 'usage':
      case 'wire':
      case 'origin':
    }
  }

  /** Ends the answer. */
  close(): void {
    this.#closeSpeech()
    for (const call of this.#calls.keys()) this.#closeCall(call)
    const isOmitted = this.#omitted !== '' && this.#details.length === 0
    if (isOmitted) this.#details.push(plainDetail(this.#omitted))
    if (this.#details.length === 0) return
    this.#openBlock('thinking')
    this.#closeSpeech()
  }

  #say(text: string): void {
    this.#delta(this.#openBlock('text'), { type: 'text_delta', text })
  }

  #think(thinking: string): void {
    if (this.#omitsThinking) this.#omitted += thinking
    else this.#delta(this.#openBlock('thinking'), { type: 'thinking_delta', thinking })
  }

  /** Claude's signatures are sent unchanged; clients may send them back to Claude itself. */
  #detail(detail: unknown): void {
    const { type, format, signature, data } = isObject(detail) ? detail : {}
    if (format !== CLAUDE_REASONING) this.#details.push(detail)
    else if (type === 'reasoning.encrypted' && typeof data === 'string') {
      this.#closeSpeech()
      const index = this.#start({ type: 'redacted_thinking', data })
      this.#emit({ type: 'content_block_stop', index })
    } else if (type === 'reasoning.text' && typeof signature === 'string' && signature !== '') {
      this.#delta(this.#openBlock('thinking'), { type: 'signature_delta', signature })
      if (this.#open !== null) this.#open.isSigned = true
      this.#closeSpeech()
    }
  }

  #cite(annotation: unknown): void {
    const { url_citation: nested, ...flat } = isObject(annotation) ? annotation : {}
    const { url, title, content } = isObject(nested) ? nested : flat
    if (typeof url !== 'string') return
    const citation = {
      type: 'web_search_result_location',
      url,
      title: typeof title === 'string' ? title : null,
      cited_text: typeof content === 'string' ? content : '',
      encrypted_index: '',
    }
    if (this.#open?.type === 'text') this.#delta(this.#open.index, { type: 'citations_delta', citation })
    else this.#citations.push(citation)
  }

  #call(call: number, id: string, name: string): void {
    if (this.#details.length > 0) this.#openBlock('thinking')
    this.#closeSpeech()
    if (this.#newest !== null && this.#calls.get(this.#newest)?.arguments.reached === true)
      this.#closeCall(this.#newest)
    this.#newest = call
    this.#closeCall(call)
    this.#calls.set(call, {
      index: this.#start({ type: 'tool_use', id, name, input: {} }),
      arguments: new ObjectEnd(),
    })
  }

  #arguments(call: number, text: string): void {
    const open = this.#calls.get(call)
    if (open === undefined || text === '') return
    open.arguments.add(text)
    this.#delta(open.index, { type: 'input_json_delta', partial_json: text })
  }

  #closeCall(call: number): void {
    const open = this.#calls.get(call)
    this.#calls.delete(call)
    if (open !== undefined) this.#emit({ type: 'content_block_stop', index: open.index })
  }

  #openBlock(type: 'text' | 'thinking'): number {
    if (this.#open?.type === type) return this.#open.index
    this.#closeSpeech()
    const index = this.#start(type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' })
    this.#open = { type, index, isSigned: false }
    if (type === 'text')
      for (const citation of this.#citations.splice(0)) this.#delta(index, { type: 'citations_delta', citation })
    return index
  }

  #closeSpeech(): void {
    const open = this.#open
    if (open === null) return
    this.#open = null
    // Clients send back no thought that has no signature.
    if (open.type === 'thinking' && !open.isSigned)
      this.#delta(open.index, { type: 'signature_delta', signature: encodeDetails(this.#details.splice(0)) })
    this.#emit({ type: 'content_block_stop', index: open.index })
  }

  #start(block: JsonObject): number {
    const index = this.#count
    this.#count += 1
    this.#emit({ type: 'content_block_start', index, content_block: block })
    return index
  }

  #delta(index: number, delta: JsonObject): void {
    this.#emit({ type: 'content_block_delta', index, delta })
  }
}
