import { either, flag, list, maybe, object, oneOf, only, optional, text, whole } from '../../base/schema.ts'
import { COST, MODEL, ROUTED, USER } from '../fields/schema.ts'
import { ASPECT_RATIOS, IMAGE_RESOLUTIONS, IMAGE_SIZES, IMAGES_MAX } from './request.ts'

const WORD = maybe(text('Passed on where it is priced.', { minLength: 1, maxLength: 64 }))
const ADDRESS = text('An address or a data URL.', { pattern: '^([hH][tT][tT][pP][sS]?://.+|[dD][aA][tT][aA]:.+)' })

/** `POST /v1/images/generations`. The reader is `parse.ts`; it also reads the bytes of a data URL. */
export const ImagesBody = object({
  model: MODEL,
  prompt: text('At most 32,000 characters, or what the model says.', { minLength: 1, pattern: '\\S' }),
  n: maybe(whole('1 if absent.', { minimum: 1, maximum: IMAGES_MAX })),
  size: maybe(oneOf([...IMAGE_SIZES, 'auto'])),
  image_config: maybe(
    object({ aspect_ratio: maybe(oneOf(ASPECT_RATIOS)), image_size: maybe(oneOf(IMAGE_RESOLUTIONS)) }),
  ),
  image: maybe(ADDRESS),
  input_references: maybe(
    list(
      either(ADDRESS, object({ image_url: either(ADDRESS, object({ url: ADDRESS })) })),
      'More images to start from; 16 in all.',
      {
        maxItems: 16,
      },
    ),
  ),
  response_format: maybe(oneOf(['url', 'b64_json'], '`url` is kept 24 hours.')),
  quality: WORD,
  background: WORD,
  style: WORD,
  output_format: maybe(oneOf(['png', 'jpeg', 'webp'])),
  output_compression: maybe(whole('', { minimum: 0, maximum: 100 })),
  input_fidelity: maybe(oneOf(['low', 'high'])),
  seed: maybe(whole('', { minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
  stream: maybe(flag('The answer as events: `image_generation.completed` for each image.')),
  partial_images: maybe(whole('At most so many before it; none are sent.', { minimum: 0, maximum: 3 })),
  user: USER,
  ...ROUTED,
})

const PICTURE = either(ADDRESS, object({ image_url: either(ADDRESS, object({ url: ADDRESS })) }))
const { image: _image, input_references: _references, ...WISHES } = ImagesBody.fields

/** `POST /v1/images/edits` as JSON; a form has the same fields, and files. The reader is `edits.ts`. */
export const ImageEditBody = object({
  ...WISHES,
  image: either(PICTURE, list(PICTURE, 'Images to start from.', { minItems: 1, maxItems: 16 })),
  mask: maybe(PICTURE),
})

/** `POST /v1/images/variations`, in the same two forms. */
export const ImageVariationBody = object({
  model: MODEL,
  image: either(PICTURE, list(PICTURE, 'One image.', { minItems: 1, maxItems: 1 })),
  n: WISHES.n,
  size: WISHES.size,
  response_format: WISHES.response_format,
  stream: maybe(only(false)),
  user: USER,
  ...ROUTED,
})

export const ImagesAnswer = object({
  id: text(),
  created: whole('Unix seconds.'),
  model: text(),
  data: list(
    object({
      url: optional(text()),
      b64_json: optional(text()),
      media_type: text(),
      revised_prompt: optional(text()),
    }),
  ),
  usage: object({
    input_tokens: whole(),
    output_tokens: whole(),
    total_tokens: whole(),
    input_tokens_details: object({ text_tokens: whole(), image_tokens: whole() }),
    prompt_tokens: whole(),
    completion_tokens: whole(),
    images: whole(),
    ...COST,
  }),
})
