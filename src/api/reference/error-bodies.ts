import { ERROR_FIELDS, ErrorBody } from '../cabinet/session-contract.ts'
import { protocolOfPath, type ClientProtocol } from '../../base/client-protocol.ts'
import { anything, either, list, object, only, text, whole, type JsonSchema } from '../../base/schema.ts'
import type { ServedRoute } from './route-table.ts'

export const ResponsesError = object({
  error: object({
    ...ERROR_FIELDS,
    code: either(
      whole('The HTTP status.'),
      text('Where clients act on a word: `context_length_exceeded`, `insufficient_quota`, `rate_limit_exceeded`.'),
    ),
  }),
})
export const AnthropicError = object({
  type: only('error'),
  error: object({ type: text('Such as `rate_limit_error`.'), message: text() }),
  request_id: text('As in `X-Request-Id` and `request-id`.'),
})
export const GeminiError = object({
  error: object({
    code: whole('The HTTP status.'),
    message: text(),
    status: text('Such as `RESOURCE_EXHAUSTED`.'),
    details: list(anything('`RetryInfo`, where it is worth asking again.')),
  }),
})
export const CohereError = object({ message: text() })
export const OllamaError = object({ error: text() })

/** The body of an error, by the protocol of its route. */
export const ERROR_BODIES: Readonly<Record<ClientProtocol, JsonSchema>> = {
  openai: ErrorBody,
  responses: ResponsesError,
  anthropic: AnthropicError,
  gemini: GeminiError,
  cohere: CohereError,
  ollama: OllamaError,
}

/** A route that several protocols share is documented with OpenAI's errors. */
export function documentedProtocol({ path, protocol = protocolOfPath(path) }: ServedRoute): ClientProtocol {
  return typeof protocol === 'string' ? protocol : 'openai'
}
