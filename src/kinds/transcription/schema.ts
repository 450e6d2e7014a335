import {
  anything,
  either,
  flag,
  list,
  maybe,
  number,
  object,
  oneOf,
  only,
  optional,
  text,
  whole,
} from '../../base/schema.ts'
import { COST, MODEL, ROUTED } from '../fields/schema.ts'
import { GRANULARITIES, TRANSCRIPT_FORMATS } from './request.ts'

const BASE64 = '^(data:[^,]{0,200},)?([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$'
const COMMA_LIST = '^[\\s,]*((word|segment)\\s*(,[\\s,]*|$))*$'

/** `POST /v1/audio/transcriptions` and `translations` as JSON. The reader is `parse.ts`; a form has the same fields. */
export const TranscriptionBody = object({
  model: MODEL,
  input_audio: object({
    data: text('The file.', { minLength: 1, pattern: BASE64, contentEncoding: 'base64' }),
    format: text('`mp3`, `wav`, …', { minLength: 1 }),
  }),
  language: maybe(text('Of the speech.')),
  prompt: maybe(text('Words to expect.')),
  response_format: maybe(oneOf(TRANSCRIPT_FORMATS, '`json` if absent.')),
  temperature: maybe(number('', { minimum: 0, maximum: 1 })),
  timestamp_granularities: maybe(
    either(
      text('Both names, with commas.', { pattern: COMMA_LIST }),
      list(oneOf(GRANULARITIES), 'For `verbose_json`; `segment` if absent.'),
    ),
  ),
  stream: maybe(flag('The text as events, with `json`; not of a translation.')),
  ...ROUTED,
})

/** In `json` and `verbose_json`; the other formats are plain text. */
export const TranscriptionAnswer = object({
  text: text(),
  task: optional(oneOf(['transcribe', 'translate'])),
  language: optional(text()),
  duration: optional(number('Seconds.')),
  segments: optional(list(anything())),
  words: optional(list(object({ word: text(), start: number(), end: number() }))),
  usage: either(
    object({ type: only('duration'), seconds: number(), ...COST }),
    object({
      type: only('tokens'),
      input_tokens: whole(),
      output_tokens: whole(),
      total_tokens: whole(),
      seconds: number(),
      ...COST,
    }),
  ),
})
