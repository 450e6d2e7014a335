import { either, flag, list, map, maybe, nullable, number, object, only, optional, text } from '../../base/schema.ts'
import { COST, ROUTED } from '../fields/schema.ts'

const Part = either(
  object({ type: only('text'), text: text() }),
  object({
    type: only('image_url'),
    image_url: object({
      url: text('An address or a data URL.', { pattern: '^([hH][tT][tT][pP][sS]?://.|[dD][aA][tT][aA]:.)' }),
    }),
  }),
)

/** `POST /v1/moderations`. The reader is `parse.ts`. */
export const ModerationBody = object({
  model: maybe(text('`omni-moderation-latest` if absent.', { minLength: 1 })),
  input: either(
    text(),
    list(text(), 'Judged one by one.', { minItems: 1, maxItems: 2_048 }),
    list(Part, 'Judged together.', { minItems: 1, maxItems: 2_048 }),
  ),
  ...ROUTED,
})

export const ModerationAnswer = object({
  id: text(),
  model: text(),
  provider: text(),
  results: list(
    object({
      flagged: flag(),
      categories: map(nullable(flag()), 'By the names that the model has.'),
      category_scores: map(nullable(number()), '0 to 1.'),
      category_applied_input_types: optional(map(list(text()), 'What each score is about.')),
    }),
    'One for each text, or one for all parts.',
  ),
  usage: object({ ...COST }),
})
