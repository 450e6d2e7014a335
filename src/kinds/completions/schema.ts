import { anything, either, flag, list, maybe, nullable, object, only, text, whole } from '../../base/schema.ts'
import { SHARED } from '../../protocols/openai/client/chat/schema.ts'
import { OPTIONAL_MODEL, TokenUsage } from '../fields/schema.ts'

const FILLED = text('', { minLength: 1 })
const NATIVE = 'Only where it is served natively.'

/** `POST /v1/completions`. The reader is `parse.ts`; it also asks that `best_of` is at least `n`. */
export const CompletionsBody = object({
  model: OPTIONAL_MODEL,
  prompt: either(FILLED, list(FILLED, '', { minItems: 1, maxItems: 20 })),
  suffix: maybe(text(NATIVE)),
  echo: maybe(flag(NATIVE)),
  logprobs: maybe(whole(NATIVE, { minimum: 0, maximum: 5 })),
  best_of: maybe(whole(`From \`n\`. ${NATIVE}`, { minimum: 1, maximum: 20 })),
  ...SHARED,
})

export const CompletionsAnswer = object({
  id: text(),
  object: only('text_completion'),
  created: whole('Unix seconds.'),
  model: text(),
  provider: text(),
  choices: list(
    object({
      index: whole('Counts through the prompts.'),
      text: text(),
      finish_reason: nullable(text()),
      native_finish_reason: nullable(text()),
      logprobs: anything(),
    }),
  ),
  usage: TokenUsage,
})
