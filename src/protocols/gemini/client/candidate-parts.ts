import { isObject, wordOf } from '../../../kinds/fields/body-fields.ts'
import { plainDetail } from '../../../kinds/chat/thoughts.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { GrownText } from '../../../kinds/answer/grown-text.ts'
import { areSigned, signatureOf, thoughtSignature } from '../signed-parts.ts'

export type CandidatePart = Readonly<Record<string, unknown>>
type ChoiceEvent = Exclude<AnswerEvent, { readonly type: 'spliced' | 'usage' | 'origin' | 'wire' }>

interface Call {
  readonly id: string
  readonly name: string
  readonly args: GrownText
}

const DATA_URL = /^data:([^;,]+)(?:;[^,]*)?;base64,(.*)$/s
const PCM = 'audio/L16;codec=pcm;rate=24000'

/** Builds the parts of one candidate from an answer's events. A call is one part, so it waits until it is complete. */
export class CandidateParts {
  readonly #showsThoughts: boolean
  #parts: CandidatePart[] = []
  #calls: Call[] = []
  readonly #signatures = new Map<string, string>()
  /** Reasoning details of another provider. */
  #details: unknown[] = []
  /** Thoughts that the client does not want to see. */
  #hidden = ''
  readonly #citations: unknown[] = []
  #audioType = PCM
  #isBroken = false

  constructor(showsThoughts: boolean) {
    this.#showsThoughts = showsThoughts
  }

  /** Whether a call's arguments were not a JSON object: it is left out, since it must not be run. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /** The sources of the answer. */
  get citations(): readonly unknown[] {
    return this.#citations
  }

  add(event: ChoiceEvent): void {
    switch (event.type) {
      case 'text':
      case 'refusal':
        return this.#text(event.text, {})
      case 'reasoning':
        if (this.#showsThoughts) this.#text(event.text, { thought: true })
        else this.#hidden += event.text
        return
      case 'tool_call':
        this.#calls[event.index] = { id: event.id, name: event.name, args: new GrownText() }
        return
      case 'tool_arguments': {
        const call = this.#calls[event.index]
        if (call !== undefined) call.args.add(event.text)
        return
      }
      case 'extra':
        return this.#extra(event.field, event.value)
      case 'finish':
        return this.close()
      case 'item':
    }
  }

  /** Takes the complete parts; each is returned once. */
  take(): readonly CandidatePart[] {
    const parts = this.#parts
    this.#parts = []
    return parts
  }

  /** The answer ended, so waiting parts are complete. */
  close(): void {
    const calls = this.#calls.filter((call) => call !== undefined)
    // Some conversations cannot be continued without their thoughts, which the client was not shown.
    const isHidden = this.#hidden !== '' && this.#signatures.size === 0
    if (isHidden && !areSigned(this.#details)) this.#details = [plainDetail(this.#hidden)]
    const foreign = isHidden || areSigned(this.#details) ? thoughtSignature(this.#details) : null
    this.#details = []
    this.#hidden = ''
    this.#calls = []
    if (foreign !== null && calls.length === 0) this.#parts.push({ text: '', thoughtSignature: foreign })
    for (const [index, { id, name, args: given }] of calls.entries()) {
      const args = argsOf(given.toString())
      if (args === null) {
        this.#isBroken = true
        continue
      }
      const signature = this.#signatures.get(id) ?? (index === 0 ? foreign : null)
      this.#parts.push({
        functionCall: { id, name, args },
        ...(signature === null ? {} : { thoughtSignature: signature }),
      })
    }
  }

  #text(text: string, more: CandidatePart): void {
    if (text === '') return
    const last = this.#parts.at(-1)
    const isSame =
      last !== undefined &&
      typeof last['text'] === 'string' &&
      last['thought'] === more['thought'] &&
      last['thoughtSignature'] === undefined
    if (isSame) this.#parts.splice(-1, 1, { ...last, text: wordOf(last['text']) + text })
    else this.#parts.push({ text, ...more })
  }

  #extra(field: string, value: unknown): void {
    if (field === 'audio' && isObject(value)) return this.#audio(value)
    if (!Array.isArray(value)) return
    if (field === 'images') for (const part of value.flatMap(imagePart)) this.#parts.push(part)
    else if (field === 'annotations') for (const source of value.flatMap(citation)) this.#citations.push(source)
    else if (field === 'reasoning_details') for (const detail of value) this.#detail(detail)
  }

  /** In a stream a text's signature comes after the text, so it gets an empty text part. */
  #detail(detail: unknown): void {
    const signature = signatureOf(detail)
    if (signature === null) {
      this.#details.push(detail)
      return
    }
    if (signature.callId !== null) {
      this.#signatures.set(signature.callId, signature.data)
      return
    }
    const last = this.#parts.at(-1)
    const isText =
      last !== undefined &&
      typeof last['text'] === 'string' &&
      last['thought'] !== true &&
      last['thoughtSignature'] === undefined
    if (isText) this.#parts.splice(-1, 1, { ...last, thoughtSignature: signature.data })
    else this.#parts.push({ text: '', thoughtSignature: signature.data })
  }

  /** Sound comes in pieces of whole base64 groups. */
  #audio(value: Readonly<Record<string, unknown>>): void {
    const { data, format, transcript } = value
    if (typeof format === 'string' && format.includes('/')) this.#audioType = format
    if (typeof transcript === 'string') this.#text(transcript, {})
    if (typeof data !== 'string' || data === '') return
    const last = this.#parts.at(-1)?.['inlineData']
    const joins =
      isObject(last) && last['mimeType'] === this.#audioType && typeof last['data'] === 'string' ? last['data'] : null
    const part = { inlineData: { mimeType: this.#audioType, data: (joins ?? '') + data } }
    if (joins === null) this.#parts.push(part)
    else this.#parts.splice(-1, 1, part)
  }
}

/** null = not a JSON object. A function without parameters may be called without arguments; some models then send null. */
function argsOf(text: string): Readonly<Record<string, unknown>> | null {
  if (text.trim() === '') return {}
  try {
    const args: unknown = JSON.parse(text)
    if (args === null) return {}
    return isObject(args) ? args : null
  } catch {
    return null
  }
}

function imagePart(image: unknown): readonly CandidatePart[] {
  const address = isObject(image) ? image['image_url'] : null
  const url = isObject(address) ? address['url'] : null
  if (typeof url !== 'string') return []
  const inline = DATA_URL.exec(url)
  return inline === null
    ? [{ fileData: { mimeType: 'image/png', fileUri: url } }]
    : [{ inlineData: { mimeType: inline[1], data: inline[2] } }]
}

function citation(annotation: unknown): readonly unknown[] {
  const cited = isObject(annotation) ? annotation['url_citation'] : null
  return isObject(cited) && typeof cited['url'] === 'string'
    ? [{ web: { uri: cited['url'], ...(typeof cited['title'] === 'string' ? { title: cited['title'] } : {}) } }]
    : []
}
