import { GeminiModel, GeminiModelList, GeminiModelQuery } from '../public/contract.ts'
import type { ErrorName } from '../../base/errors.ts'
import {
  BatchEmbedAnswer,
  BatchEmbedBody,
  CountedTokens,
  CountTokensBody,
  EmbedContentAnswer,
  EmbedContentBody,
  GenerateContentAnswer,
  GenerateContentBody,
  GenerateContentChunks,
} from '../../protocols/gemini/client/schema.ts'
import { object, optional, text } from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'

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

const CALLS: Readonly<Record<string, WireRoute>> = {
  generateContent: {
    summary: 'The same models, in the form of Gemini’s protocol.',
    body: GenerateContentBody,
    answer: GenerateContentAnswer,
    errors: CHAT,
    example: { path: MODEL, body: { contents: CONTENTS, generationConfig: { maxOutputTokens: 100 } } },
  },
  streamGenerateContent: {
    summary: 'The answer as it is made: an event stream with `alt=sse`, else the items of one array.',
    query: object({ alt: optional(text('`sse`: an event stream.')) }),
    body: GenerateContentBody,
    answer: GenerateContentChunks,
    errors: CHAT,
    example: { path: MODEL, body: { contents: CONTENTS, generationConfig: { maxOutputTokens: 100 } } },
  },
  countTokens: {
    summary: 'The tokens of a request’s input. Costs nothing.',
    body: CountTokensBody,
    answer: CountedTokens,
    errors: [...CHAT, 'model_not_found', 'model_not_supported'],
    example: { path: MODEL, body: { contents: CONTENTS } },
  },
  embedContent: {
    summary: 'Turns a text into a vector.',
    body: EmbedContentBody,
    answer: EmbedContentAnswer,
    errors: EMBED,
    example: { path: EMBEDDING_MODEL, body: { content: CONTENT } },
  },
  batchEmbedContents: {
    summary: 'Turns texts into vectors.',
    body: BatchEmbedBody,
    answer: BatchEmbedAnswer,
    errors: EMBED,
    example: { path: EMBEDDING_MODEL, body: { requests: [{ content: CONTENT }] } },
  },
}

/** The routes of Gemini's protocol, each under every version that clients use. */
export const GEMINI_ROUTES: Readonly<Record<string, WireRoute>> = {
  ...Object.fromEntries(
    ['v1beta', 'v1', 'v1alpha'].flatMap((version) =>
      Object.entries(CALLS).map(([word, row]) => [`POST /${version}/models/*model:${word}`, row]),
    ),
  ),
  ...Object.fromEntries(
    ['v1beta', 'v1alpha'].flatMap((version): readonly [string, WireRoute][] => [
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
