import { objectOf, textOf, type RawJson } from '../../protocols/wire/raw-json.ts'
import { decoded, isAt, runText, textPlace, textRun } from '../../protocols/wire/text-form.ts'

/** The texts of a delta that come in many pieces. */
const TEXT_FIELDS = ['text', 'thinking', 'partial_json']
const EVENT_START = Buffer.from('event: content_block_delta\ndata: ')
const EVENT_END = Buffer.from('\n\n')

interface DeltaForm {
  readonly head: Buffer
  readonly tail: Buffer
  readonly event: RawJson
  readonly delta: RawJson
  readonly field: string
}

/** Deltas that stand one behind another and differ from the last parsed one only in their text, as one. */
export interface DeltaRun {
  /** The event that has all their text. */
  readonly event: RawJson
  /** Where the next event begins. */
  readonly end: number
}

/** Recognises deltas by their bytes, which the client gets as they came. */
export class KnownDelta {
  #form: DeltaForm | null = null

  learn(data: Buffer, event: RawJson): void {
    const delta = event['type'] === 'content_block_delta' ? objectOf(event['delta']) : null
    if (delta === null) return
    const field = TEXT_FIELDS.find((name) => textOf(delta[name]) !== null)
    const place = field === undefined ? null : textPlace(data, field, textOf(delta[field]) ?? '')
    if (field === undefined || place === null) return
    this.#form = {
      head: Buffer.concat([EVENT_START, data.subarray(0, place.start)]),
      tail: Buffer.concat([data.subarray(place.end), EVENT_END]),
      event,
      delta,
      field,
    }
  }

  run(bytes: Buffer, start: number): DeltaRun | null {
    const form = this.#form
    if (form === null) return null
    const { head, tail, event, delta, field } = form
    const run = textRun(bytes, start, head, (read, at) => (isAt(read, at, tail) ? at + tail.length : -1))
    if (run === null) return null
    const text = decoded(runText(bytes, run.places))
    return { event: { ...event, delta: { ...delta, [field]: text } }, end: run.end }
  }
}
