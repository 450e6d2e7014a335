import { ApiError } from '../../base/errors.ts'
import { SAMPLING_PARAMETERS } from '../../tables/parameter-table.ts'
import { parseChat } from '../../protocols/openai/client/chat/parse.ts'
import type { CompletionsRequest } from '../completions.ts'
import {
  booleanField,
  field,
  invalidInput,
  isObject,
  numberField,
  stringField,
  type RawObject,
} from '../fields/json-fields.ts'

const PROMPTS_MAX = 20
const LOGPROBS_MAX = 5
const BEST_OF_MAX = 20
/** Every field of a chat that completions also have; they have no messages, tools or formats. */
const CHAT_FIELDS = [
  'model',
  'models',
  'provider',
  'max_tokens',
  ...SAMPLING_PARAMETERS,
  'logit_bias',
  'n',
  'stream',
  'stream_options',
  'user',
  'session_id',
]

/** Reads the body of a legacy completions request (wire.md D-2.5). */
export function parseCompletions(json: unknown): CompletionsRequest {
  if (!isObject(json))
    throw new ApiError('invalid_json', 'Request body is not valid JSON: the top level must be an object')
  const prompts = promptsOf(json)
  const suffix = stringField(json, 'suffix') ?? null
  const echo = booleanField(json, 'echo') ?? false
  const logprobs = integer(json, 'logprobs', 0, LOGPROBS_MAX)
  const bestOf = integer(json, 'best_of', 1, BEST_OF_MAX)
  const longest = prompts.reduce((left, right) => (Buffer.byteLength(right) > Buffer.byteLength(left) ? right : left))
  const fields = Object.fromEntries(
    CHAT_FIELDS.filter((name) => Object.hasOwn(json, name)).map((name) => [name, json[name]]),
  )
  const chat = parseChat({ ...fields, prompt: longest })
  if (bestOf !== null && bestOf < chat.n) throw invalidInput('best_of', `must be at least n (${chat.n})`)
  return { prompts, chat, suffix, echo, logprobs, bestOf }
}

function promptsOf(body: RawObject): readonly string[] {
  const prompt = field(body, 'prompt')
  if (prompt === undefined || prompt === '' || (Array.isArray(prompt) && prompt.length === 0))
    throw new ApiError('missing_prompt', "Parameter 'prompt' is required")
  if (typeof prompt === 'string') return [prompt]
  const refusal = invalidInput('prompt', `must be a string or an array of 1 to ${PROMPTS_MAX} non-empty strings`)
  if (!Array.isArray(prompt) || prompt.length > PROMPTS_MAX) throw refusal
  return prompt.map((one: unknown) => {
    if (typeof one !== 'string' || one === '') throw refusal
    return one
  })
}

function integer(body: RawObject, name: string, low: number, high: number): number | null {
  return (
    numberField(
      body,
      name,
      (value) => Number.isInteger(value) && value >= low && value <= high,
      `must be an integer between ${low} and ${high}`,
    ) ?? null
  )
}
