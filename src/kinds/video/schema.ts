import { either, flag, list, maybe, object, oneOf, only, text, whole } from '../../base/schema.ts'
import { MODEL, ROUTED, USER } from '../fields/schema.ts'

const SECONDS = whole('One that the model lists, else 1 to 60.', { minimum: 1, maximum: 60 })
const ADDRESS = text('An address or a data URL.', {
  pattern: '^([hH][tT][tT][pP][sS]?://|[dD][aA][tT][aA]:[iI][mM][aA][gG][eE]/[a-zA-Z0-9.+-]{1,40};[bB][aA][sS][eE]64,)',
})
const IMAGE = either(ADDRESS, object({ url: ADDRESS }))

/** `POST /v1/videos`. The reader is `parse.ts`; it also asks that `seconds` and `duration` say the same. */
export const VideoBody = object({
  model: MODEL,
  prompt: text('', { minLength: 1, pattern: '\\S' }),
  size: maybe(text('Such as `1280x720`.', { pattern: '^(\\d{2,5}x\\d{2,5}|auto)$' })),
  duration: maybe(SECONDS),
  seconds: maybe(either(SECONDS, text('', { pattern: '^(0{0,2}[1-9]|0?[1-5]\\d|0?60)$' }))),
  resolution: maybe(text('Such as `720p`.', { pattern: '^[A-Za-z0-9]{1,16}$' })),
  aspect_ratio: maybe(text('Such as `16:9`.', { pattern: '^(\\d{1,3}:\\d{1,3}|auto)$' })),
  frame_images: maybe(
    list(object({ image_url: IMAGE, frame_type: maybe(oneOf(['first_frame', 'last_frame'])) }), '', { maxItems: 16 }),
  ),
  input_references: maybe(
    list(either(ADDRESS, object({ image_url: IMAGE })), 'Images to take things or a style from.', { maxItems: 16 }),
  ),
  input_reference: maybe(either(ADDRESS, object({ image_url: IMAGE }, 'The first of them; in a form, a file.'))),
  generate_audio: maybe(flag()),
  seed: maybe(whole('', { minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  stream: maybe(only(false)),
  user: USER,
  ...ROUTED,
})
