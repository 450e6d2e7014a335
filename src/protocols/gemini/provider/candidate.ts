import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { signatureDetail } from '../gemini-reasoning.ts'
import type { FinishReason } from '../../../kinds/chat/answer.ts'
import type { JsonBytes } from '../../../base/json-text.ts'
import { listOf, objectOf, textOf, type RawJson } from '../../wire/raw-json.ts'
import { toolCallId } from '../../../providers/answers/tool-call-id.ts'
import { logprobsOf } from './logprobs.ts'
import type { SearchBilling } from '../../../providers/gemini/model-traits.ts'
import { PartialArguments } from '../../../providers/gemini/partial-arguments.ts'

/** Far beyond any honest answer: bounds on what a broken upstream makes us keep. */
const CALLS_MAX = 256
const SOURCES_MAX = 1_024
const QUERIES_MAX = 128
/** Reasons of this protocol that the common table lacks. A call of an undeclared tool must not be run. */
const FINISHES: ReadonlyMap<string, FinishReason> = new Map([
  ...['MODEL_ARMOR', 'IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION'].map(
    (native) => [native, 'content_filter'] as const,
  ),
  ...[
    'UNEXPECTED_TOOL_CALL',
    'TOO_MANY_TOOL_CALLS',
    'MISSING_THOUGHT_SIGNATURE',
    'MALFORMED_RESPONSE',
    'LANGUAGE',
    'NO_IMAGE',
    'IMAGE_OTHER',
  ].map((native) => [native, 'error'] as const),
])

/** The request's settings for what the client sees. */
export interface CandidateView {
  readonly generationId: string
  readonly hidesReasoning: boolean
  /** How the provider bills searches of this answer; null = the request allows none. */
  readonly billsSearch: SearchBilling | null
}

/** One candidate of an answer, as events; each piece of a stream has the shape of a whole candidate. */
export class Candidate {
  readonly #view: CandidateView
  readonly #choice: number
  readonly #sources = new Set<string>()
  #events: AnswerEvent[] = []
  #calls = 0
  #lastCallId: string | null = null
  #details = 0
  #open: PartialArguments | null = null
  #audio: Buffer | null = null
  #finished = false
  #queries = 0
  #isBroken = false

  constructor(view: CandidateView, choice: number) {
    this.#view = view
    this.#choice = choice
  }

  get finished(): boolean {
    return this.#finished
  }

  /** Web searches that the provider bills. */
  get searches(): number {
    if (this.#view.billsSearch === 'queries') return this.#queries
    return this.#queries > 0 || this.#sources.size > 0 ? 1 : 0
  }

  /**
   * `lifted`: the probabilities, each replaced by its index. null for more than any honest answer holds, or for pieces
   * of a call that do not fit together.
   */
  read(raw: RawJson, lifted: readonly JsonBytes[]): readonly AnswerEvent[] | null {
    this.#events = []
    for (const part of listOf(objectOf(raw['content'])?.['parts'])) this.#part(objectOf(part) ?? {})
    this.#logprobs(logprobsOf(raw['logprobsResult'], lifted))
    this.#grounding(objectOf(raw['groundingMetadata']))
    const native = textOf(raw['finishReason'])
    if (native !== null) this.#finish(native)
    return this.#isBroken ? null : this.#events
  }

  /** The answer ended without a reason, as only a whole answer may. */
  close(): readonly AnswerEvent[] {
    this.#events = []
    if (!this.#finished) this.#finish(null)
    return this.#events
  }

  #part(part: RawJson): void {
    const text = textOf(part['text'])
    const called = objectOf(part['functionCall'])
    const inline = objectOf(part['inlineData'])
    const code = objectOf(part['executableCode'])
    const output = textOf(objectOf(part['codeExecutionResult'])?.['output'])
    if (called !== null) this.#call(called)
    else if (text !== null) this.#text(text, part['thought'] === true)
    else if (inline !== null && part['thought'] !== true)
      this.#inline(textOf(inline['mimeType']) ?? '', textOf(inline['data']) ?? '')
    else if (code !== null)
      this.#text(fenced((textOf(code['language']) ?? '').toLowerCase(), textOf(code['code']) ?? ''), false)
    else if (output !== null) this.#text(fenced('', output), false)
    const signature = textOf(part['thoughtSignature'])
    if (signature !== null && signature !== '') this.#signature(signature, called === null ? null : this.#lastCallId)
  }

  #text(text: string, isThought: boolean): void {
    const hidden = isThought && this.#view.hidesReasoning
    this.#events.push({ type: isThought ? 'reasoning' : 'text', choice: this.#choice, text: hidden ? '' : text })
  }

  /** A call comes whole, or its name comes first and pieces without a name follow until one says that no more come. */
  #call(called: RawJson): void {
    const name = textOf(called['name'])
    if (name !== null && name !== '') this.#openCall(name, textOf(called['id']))
    if (this.#open === null) {
      // Progress without content.
      if (name === null || name === '') this.#events.push({ type: 'reasoning', choice: this.#choice, text: '' })
      return
    }
    if (!this.#open.add(called['partialArgs'])) this.#isBroken = true
    if (called['willContinue'] === true) this.#events.push({ type: 'reasoning', choice: this.#choice, text: '' })
    else this.#closeCall(objectOf(called['args']))
  }

  #openCall(name: string, id: string | null): void {
    this.#closeCall(null)
    const index = this.#calls
    this.#calls += 1
    if (this.#calls > CALLS_MAX) this.#isBroken = true
    this.#open = new PartialArguments()
    this.#lastCallId = id || toolCallId(this.#view.generationId, this.#choice, index)
    this.#events.push({ type: 'tool_call', choice: this.#choice, index, id: this.#lastCallId, name })
  }

  #closeCall(args: RawJson | null): void {
    if (this.#open === null) return
    const text = args === null ? this.#open.text() : JSON.stringify(args)
    this.#open = null
    this.#events.push({ type: 'tool_arguments', choice: this.#choice, index: this.#calls - 1, text })
  }

  #signature(data: string, callId: string | null): void {
    this.#events.push({
      type: 'extra',
      choice: this.#choice,
      field: 'reasoning_details',
      value: [signatureDetail(data, callId, this.#details)],
    })
    this.#details += 1
  }

  #inline(mimeType: string, data: string): void {
    if (mimeType.startsWith('image/')) {
      const value = [{ type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` } }]
      this.#events.push({ type: 'extra', choice: this.#choice, field: 'images', value })
    } else if (mimeType.startsWith('audio/')) this.#sound(mimeType, Buffer.from(data, 'base64'))
  }

  /** Pieces of base64 can be joined only if each but the last holds whole groups of three bytes. */
  #sound(mimeType: string, bytes: Buffer): void {
    const id =
      this.#audio === null
        ? { id: `audio_${this.#view.generationId.split('-').at(-1) ?? ''}_${this.#choice}`, format: mimeType }
        : {}
    const all = this.#audio === null ? bytes : Buffer.concat([this.#audio, bytes])
    const end = all.length - (all.length % 3)
    this.#audio = all.subarray(end)
    this.#events.push({
      type: 'extra',
      choice: this.#choice,
      field: 'audio',
      value: { ...id, data: all.subarray(0, end).toString('base64') },
    })
  }

  #logprobs(logprobs: unknown): void {
    if (logprobs === null) return
    const place = this.#events.findLastIndex((event) => event.type === 'text')
    const said = this.#events[place]
    const text = said?.type === 'text' ? said.text : ''
    this.#events.splice(place === -1 ? this.#events.length : place, 1, {
      type: 'text',
      choice: this.#choice,
      text,
      logprobs,
    })
  }

  /** Later pieces of a stream repeat earlier sources. */
  #grounding(metadata: RawJson | null): void {
    this.#queries = Math.min(Math.max(this.#queries, listOf(metadata?.['webSearchQueries']).length), QUERIES_MAX)
    const annotations = listOf(metadata?.['groundingChunks']).flatMap((chunk) => {
      const web = objectOf(objectOf(chunk)?.['web'])
      const url = textOf(web?.['uri'])
      if (url === null || this.#sources.has(url) || this.#sources.size >= SOURCES_MAX) return []
      this.#sources.add(url)
      return [
        {
          type: 'url_citation',
          url_citation: { url, title: textOf(web?.['title']) ?? '', start_index: 0, end_index: 0 },
        },
      ]
    })
    if (annotations.length > 0)
      this.#events.push({ type: 'extra', choice: this.#choice, field: 'annotations', value: annotations })
  }

  #finish(native: string | null): void {
    this.#closeCall(null)
    if (this.#audio !== null && this.#audio.length > 0)
      this.#events.push({
        type: 'extra',
        choice: this.#choice,
        field: 'audio',
        value: { data: this.#audio.toString('base64') },
      })
    this.#audio = null
    this.#finished = true
    const finish = native === null ? undefined : FINISHES.get(native)
    this.#events.push({ type: 'finish', choice: this.#choice, native, ...(finish === undefined ? {} : { finish }) })
  }
}

function fenced(language: string, text: string): string {
  return `\n\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\n`
}
