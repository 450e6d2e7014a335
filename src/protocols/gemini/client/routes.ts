import type { ErrorName } from '../../../base/errors.ts'
import { list, object, optional, text, whole } from '../../../base/schema.ts'
import type { ClientDocs } from '../../ports/client-call.ts'
import * as schema from './schema.ts'

/** A model for clients of Gemini's protocol, which send `x-goog-api-key`. */
const GeminiModel = object({
  name: text('`models/` and the id.'),
  version: text(),
  displayName: text(),
  description: text(),
  inputTokenLimit: optional(whole()),
  outputTokenLimit: optional(whole()),
  supportedGenerationMethods: list(text()),
})
const GeminiModelList = object({
  models: list(GeminiModel),
  nextPageToken: optional(text('Absent on the last page.')),
})
const GeminiModelQuery = object({
  pageSize: optional(text('With `x-goog-api-key`: at most 1,000; 50 if absent.')),
  pageToken: optional(text('With `x-goog-api-key`: `nextPageToken` of the page before.')),
})

const CHAT: readonly ErrorName[] = [
  'missing_messages',
  'invalid_message_format',
  'invalid_message_role',
  'invalid_input',
  'invalid_base64',
  'token_limit_exceeded',
  'empty_response',
]
const EMBED: readonly ErrorName[] = ['missing_input', 'invalid_input', 'empty_response']
const CONTENTS = [{ role: 'user', parts: [{ text: 'Hello' }] }]
const MODEL = { model: 'sandbox/chat' }
const EMBEDDING_MODEL = { model: 'sandbox/embeddings' }
const CONTENT = { parts: [{ text: 'first' }] }

const CALLS: ClientDocs['routes'] = {
  generateContent: {
    summary: 'The same models, in the form of Gemini’s protocol.',
    body: schema.GenerateContentBody,
    answer: schema.GenerateContentAnswer,
    errors: CHAT,
    example: { path: MODEL, body: { contents: CONTENTS, generationConfig: { maxOutputTokens: 100 } } },
  },
  streamGenerateContent: {
    summary: 'The answer as it is made: an event stream with `alt=sse`, else the items of one array.',
    query: object({ alt: optional(text('`sse`: an event stream.')) }),
    body: schema.GenerateContentBody,
    answer: schema.GenerateContentChunks,
    errors: CHAT,
    example: { path: MODEL, body: { contents: CONTENTS, generationConfig: { maxOutputTokens: 100 } } },
  },
  countTokens: {
    summary: 'The tokens of a request’s input. Costs nothing.',
    body: schema.CountTokensBody,
    answer: schema.CountedTokens,
    errors: [...CHAT, 'model_not_found', 'model_not_supported'],
    example: { path: MODEL, body: { contents: CONTENTS } },
  },
  embedContent: {
    summary: 'Turns a text into a vector.',
    body: schema.EmbedContentBody,
    answer: schema.EmbedContentAnswer,
    errors: EMBED,
    example: { path: EMBEDDING_MODEL, body: { content: CONTENT } },
  },
  batchEmbedContents: {
    summary: 'Turns texts into vectors.',
    body: schema.BatchEmbedBody,
    answer: schema.BatchEmbedAnswer,
    errors: EMBED,
    example: { path: EMBEDDING_MODEL, body: { requests: [{ content: CONTENT }] } },
  },
}

/** The routes of Gemini's protocol, each under every version that clients use. */
const ROUTES: ClientDocs['routes'] = {
  ...Object.fromEntries(
    ['v1beta', 'v1', 'v1alpha'].flatMap((version) =>
      Object.entries(CALLS).map(([word, row]) => [`POST /${version}/models/*model:${word}`, row]),
    ),
  ),
  ...Object.fromEntries(
    ['v1beta', 'v1alpha'].flatMap((version): readonly [string, ClientDocs['routes'][string]][] => [
      [
        `GET /${version}/models`,
        {
          summary: 'The models that can be asked in Gemini’s protocol.',
          query: GeminiModelQuery,
          answer: GeminiModelList,
          errors: ['invalid_input'],
          example: { query: { pageSize: '5' } },
        },
      ],
      [
        `GET /${version}/models/*id`,
        {
          summary: 'One model. The slashes of its id stay in the path.',
          answer: GeminiModel,
          errors: ['model_record_not_found'],
          example: { path: { id: 'sandbox/chat' } },
        },
      ],
    ]),
  ),
}

export const GEMINI_DOCS: ClientDocs = {
  routes: ROUTES,
  records: { ...schema, GeminiModel, GeminiModelList, GeminiModelQuery },
  models: { query: GeminiModelQuery, list: GeminiModelList, one: GeminiModel },
}
