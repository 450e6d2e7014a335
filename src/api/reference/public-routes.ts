import type { ErrorName } from '../../base/errors.ts'
import { anything, either, flag, object, only, open, optional, text } from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import { PAID_ROOMS } from '../../pay/rooms.ts'
import { ANTHROPIC_DOCS } from '../../protocols/anthropic/client/routes.ts'
import { COHERE_DOCS } from '../../protocols/cohere/client/routes.ts'
import { GEMINI_DOCS } from '../../protocols/gemini/client/routes.ts'
import { OLLAMA_DOCS } from '../../protocols/ollama/client/routes.ts'
import { ChatAnswer, ChatBody } from '../../protocols/openai/client/chat/schema.ts'
import { CompletionsAnswer, CompletionsBody } from '../../protocols/openai/client/completions.ts'
import { EmbeddingsAnswer, EmbeddingsBody } from '../../protocols/openai/client/embeddings.ts'
import { ImageEditBody, ImageVariationBody, ImagesAnswer, ImagesBody } from '../../protocols/openai/client/images.ts'
import { MODERATION_ROUTE } from '../../protocols/openai/client/moderations.ts'
import { RerankAnswer, RerankBody } from '../../protocols/openai/client/rerank.ts'
import { SpeechBody } from '../../protocols/openai/client/speech.ts'
import { TranscriptionAnswer, TranscriptionBody } from '../../protocols/openai/client/transcription.ts'
import { CHAT_ERRORS as CHAT, type ClientDocs } from '../../protocols/ports/client-call.ts'
import { RESPONSES_DOCS } from '../../protocols/responses/client/routes.ts'
import { CABINET_FILES } from '../cabinet/files.ts'
import {
  Alive,
  Balance,
  Credits,
  Health,
  KeyRecord,
  Log,
  LogQuery,
  ManagedKeyBody,
  ManagedKeyDeleted,
  ManagedKeyPatch,
  ManagedKeyQuery,
  ManagedKeys,
  ModelCount,
  ModelEndpoints,
  ModelFilterQuery,
  ModelList,
  ModelQuery,
  ModelRecord,
  NewManagedKey,
  OneManagedKey,
  OneModel,
  Providers,
  Ready,
  StreamCancelled,
  StreamQuery,
} from '../public/contract.ts'
import { MetricsQuery } from '../public/metrics.ts'
import { KIND_LISTS } from '../public/models.ts'
import { completed } from '../records/route-rows.ts'

const DOCS: Readonly<Record<string, ClientDocs>> = {
  responses: RESPONSES_DOCS,
  anthropic: ANTHROPIC_DOCS,
  gemini: GEMINI_DOCS,
  cohere: COHERE_DOCS,
  ollama: OLLAMA_DOCS,
}

/** The documents of the clients' protocols other than OpenAI's. */
export const CLIENT_DOCS: readonly ClientDocs[] = Object.values(DOCS)

const IMAGES: WireRoute = {
  summary: 'Draws images. There may be fewer than asked for; only those are charged.',
  body: ImagesBody,
  answer: ImagesAnswer,
  errors: [
    'missing_model',
    'missing_prompt',
    'prompt_too_long',
    'invalid_response_format',
    'streaming_not_supported',
    'invalid_input',
    'empty_response',
  ],
  example: { body: { model: 'sandbox/image', prompt: 'A lake at dawn', size: '1024x1024' } },
}
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const EDITS: WireRoute = {
  ...IMAGES,
  summary:
    'Draws images from up to 16 others, where a mask says. The body is JSON, or a form with the same fields and the files as `image`, `image[]` and `mask`.',
  body: ImageEditBody,
  errors: [...(IMAGES.errors ?? []), 'missing_input', 'file_upload_error'],
  example: { body: { model: 'sandbox/image', prompt: 'The same at night', image: [PNG] } },
}
const SOUND: readonly ErrorName[] = [
  'missing_model',
  'missing_input',
  'file_upload_error',
  'invalid_base64',
  'invalid_response_format',
  'invalid_input',
  'streaming_not_supported',
  'empty_response',
]
/** A tenth of a second of silence. */
const WAV = `UklGRmQGAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YUAG${'A'.repeat(2_136)}`
const LISTEN: WireRoute = {
  summary: 'Writes down what is said. The body is JSON, or a form with the same fields and the file as `file`.',
  body: TranscriptionBody,
  answer: TranscriptionAnswer,
  errors: SOUND,
  example: { body: { model: 'sandbox/transcription', input_audio: { data: WAV, format: 'wav' } } },
}
const KIND_LIST: WireRoute = {
  summary: 'The models of one kind.',
  query: ModelQuery,
  answer: ModelList,
  errors: ['invalid_input', 'invalid_filter'],
  example: { query: { limit: '5' } },
}
const MODEL = { author: 'sandbox', slug: 'chat' }

const MODEL_FORMS = CLIENT_DOCS.flatMap(({ models }) => models ?? [])

/** Routes for customers' programs, and those of the service itself. */
export const PUBLIC_ROUTES: Readonly<Record<string, WireRoute>> = completed({
  'POST /v1/chat/completions': {
    summary: 'Answers a conversation.',
    body: ChatBody,
    answer: ChatAnswer,
    errors: CHAT,
    example: {
      body: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 },
    },
  },
  ...Object.fromEntries(CLIENT_DOCS.flatMap(({ routes }) => Object.entries(routes))),
  'POST /v1/completions': {
    summary: 'Continues a text.',
    body: CompletionsBody,
    answer: CompletionsAnswer,
    errors: [...CHAT, 'missing_prompt'],
    example: { body: { model: 'sandbox/chat', prompt: 'Once upon a time', max_tokens: 50 } },
  },
  'POST /v1/embeddings': {
    summary: 'Turns texts into vectors.',
    body: EmbeddingsBody,
    answer: EmbeddingsAnswer,
    errors: ['missing_model', 'missing_input', 'invalid_input', 'empty_response'],
    example: { body: { model: 'sandbox/embeddings', input: ['first', 'second'] } },
  },
  'POST /v1/rerank': {
    summary: 'Sorts documents by how well they answer a query.',
    body: RerankBody,
    answer: RerankAnswer,
    errors: ['missing_model', 'missing_query', 'missing_documents', 'invalid_input', 'empty_response'],
    example: {
      body: {
        model: 'sandbox/rerank',
        query: 'capital of France',
        documents: ['Berlin is in Germany.', 'Paris is in France.'],
      },
    },
  },
  'POST /v1/moderations': MODERATION_ROUTE,
  'POST /v1/images/generations': IMAGES,
  'POST /v1/images': IMAGES,
  'POST /v1/images/edits': EDITS,
  'POST /v1/images/variations': {
    ...EDITS,
    summary: 'Draws images like one that is given, without a prompt. The body is JSON or a form, as of an edit.',
    body: ImageVariationBody,
    errors: (EDITS.errors ?? []).filter((name) => name !== 'missing_prompt' && name !== 'prompt_too_long'),
    example: { body: { model: 'sandbox/image', image: PNG } },
  },
  'GET /v1/images/content': {
    summary: 'A stored image, by the id and token of its address.',
    open: true,
    query: object({ id: text(), token: text() }),
    answer: { media: 'image/*' },
    errors: ['file_not_found', 'invalid_input'],
    example: { query: { id: 'img-Vb3kQ9xT2mLr7dWa', token: 'Vb3kQ9xT2mLr7dWaVb3kQ9' } },
  },
  'POST /v1/audio/speech': {
    summary: 'Speaks a text. The answer is the sound, as it arrives.',
    body: SpeechBody,
    answer: { media: 'audio/*' },
    errors: [
      'missing_model',
      'missing_input',
      'input_too_long',
      'invalid_response_format',
      'invalid_input',
      'streaming_not_supported',
      'empty_response',
    ],
    example: { body: { model: 'sandbox/tts', input: 'Hello' } },
  },
  'POST /v1/audio/transcriptions': LISTEN,
  'POST /v1/audio/translations': { ...LISTEN, summary: `The same, and the text is in English. ${LISTEN.summary}` },
  ...Object.fromEntries(PAID_ROOMS.flatMap(({ docs }) => Object.entries(docs))),
  'GET /v1/streams': {
    summary: 'Resumes a stream whose request carried `X-Request-Id`.',
    query: StreamQuery,
    answer: { media: 'text/event-stream' },
    errors: ['invalid_input', 'stream_not_found'],
    example: { query: { id: 'my-request-1', after: '3' } },
  },
  'DELETE /v1/streams': {
    summary: 'Cancels a stream. What was delivered is charged.',
    query: object({ id: text() }),
    answer: StreamCancelled,
    errors: ['invalid_input', 'stream_not_found'],
    example: { query: { id: 'my-request-1' } },
  },
  'GET /v1/models': {
    summary: 'The models that can be asked.',
    query: object({
      ...ModelFilterQuery.fields,
      ...ModelQuery.fields,
      ...Object.fromEntries(MODEL_FORMS.flatMap(({ query }) => Object.entries(query.fields))),
      client_version: optional(text('Of Codex: adds `models` and an `ETag` (clients.md 3).')),
    }),
    answer: either(ModelList, ...MODEL_FORMS.map((forms) => forms.list)),
    errors: ['invalid_input', 'invalid_filter'],
    example: { query: { limit: '5' } },
  },
  'GET /v1/models/count': {
    summary: 'How many models there are.',
    query: ModelFilterQuery,
    answer: ModelCount,
    errors: ['invalid_filter', 'invalid_input'],
  },
  ...Object.fromEntries(KIND_LISTS.map(({ path }) => [`GET ${path}`, KIND_LIST])),
  'GET /v1/models/:author/:slug/endpoints': {
    summary: 'The endpoints of a model: who serves it, at which price, how well.',
    answer: ModelEndpoints,
    errors: ['model_record_not_found'],
    example: { path: MODEL },
  },
  'GET /v1/models/:author/endpoints': {
    summary: 'The same, where the slash of the id is encoded.',
    answer: ModelEndpoints,
    errors: ['model_record_not_found'],
  },
  'GET /v1/models/*id': {
    summary: 'One model. The slashes of its id stay in the path.',
    answer: either(ModelRecord, ...MODEL_FORMS.map((forms) => forms.one)),
    errors: ['model_record_not_found'],
  },
  'GET /v1/model/*id': { summary: 'One model, within `data`.', answer: OneModel, errors: ['model_record_not_found'] },
  'GET /v1/providers': { summary: 'Whom `provider` of a request may name.', answer: Providers, example: {} },
  'GET /v1/user/balance': { summary: 'The money of the account.', answer: Balance, example: {} },
  'GET /v1/credits': { summary: 'All that was paid in and charged.', answer: Credits, example: {} },
  'GET /v1/key': { summary: 'The key of the request.', answer: KeyRecord, example: {} },
  'GET /v1/auth/key': { summary: 'The key of the request.', answer: KeyRecord, example: {} },
  'GET /v1/keys': {
    summary: 'The API keys of the account. Needs a management key, as all routes under `/v1/keys` do.',
    query: ManagedKeyQuery,
    manages: true,
    answer: ManagedKeys,
    errors: ['invalid_input'],
    example: { query: { include_disabled: 'true' } },
  },
  'POST /v1/keys': {
    summary: 'Makes an API key. `key` is in this answer only.',
    free: true,
    body: ManagedKeyBody,
    manages: true,
    answer: NewManagedKey,
    status: 201,
    errors: ['invalid_input', 'conflict'],
    example: { body: { name: 'customer 17', limit: 500, limit_reset: 'monthly', requests_per_minute: 60 } },
  },
  'GET /v1/keys/:hash': { summary: 'One API key.', manages: true, answer: OneManagedKey, errors: ['not_found'] },
  'PATCH /v1/keys/:hash': {
    summary: 'Changes the fields that are given.',
    free: true,
    body: ManagedKeyPatch,
    manages: true,
    answer: OneManagedKey,
    errors: ['invalid_input', 'not_found'],
    example: { body: { disabled: true, limit: null } },
  },
  'DELETE /v1/keys/:hash': {
    summary: 'Deletes an API key.',
    manages: true,
    answer: ManagedKeyDeleted,
    errors: ['not_found'],
  },
  'GET /v1/generation': {
    summary: 'The log of the account, newest first, or one request where `id` is given.',
    query: LogQuery,
    answer: Log,
    errors: ['invalid_input', 'generation_not_found'],
    example: { query: { limit: '5' } },
  },
  'GET /v1/health': { summary: 'Whether the service takes requests, and what exists.', open: true, answer: Health },
  'GET /api/hello': { summary: 'Tollgate is running.', open: true, answer: Alive, example: {} },
  'GET /healthz': { summary: 'The process lives.', answer: Alive, example: {} },
  'GET /readyz': { summary: 'Requests may be sent here.', answer: Ready, example: {} },
  'GET /metrics': {
    query: MetricsQuery,
    summary: 'For Prometheus: from the machine itself, else with an admin token.',
    answer: { media: 'text/plain' },
    errors: ['unauthorized', 'access_denied'],
  },
  'POST /setup': {
    summary: 'Uses up the printed set-up link from a page without scripts of the console.',
    body: object({ token: text(), email: text(), password: text() }),
    answer: object({ created: only(true) }),
    status: 201,
    errors: ['invalid_input', 'access_denied', 'conflict', 'unauthorized', 'rate_limit_exceeded'],
    example: { body: { token: 'from-the-link', email: 'root@example.com', password: 'seven quiet lanterns' } },
  },
  'GET /openapi.json': { summary: 'This document.', answer: open({ openapi: text() }, anything()) },
  'GET /docs': { summary: 'This document, to read.', answer: { media: 'text/html' }, example: {} },
})

/**
 * Routes under `/cabinet/v1` that are not in the console's contract: they do not answer with JSON, or the console does
 * not call them.
 */
export const OTHER_CABINET_ROUTES: Readonly<Record<string, WireRoute>> = completed({
  ...Object.fromEntries([...CABINET_FILES].map(([name, { route }]) => [name, route])),
  'GET /cabinet/v1/oidc/start': {
    summary: 'A navigation: goes to the single sign-on.',
    answer: { media: 'text/plain' },
    status: 302,
  },
  'GET /cabinet/v1/oidc/callback': {
    summary: 'A navigation: comes back from the single sign-on, and goes to a page of the console.',
    answer: { media: 'text/plain' },
    status: 302,
  },
  'POST /cabinet/v1/payments/notifications/yookassa': {
    summary: 'A notification of the payment provider. It is asked itself before anything is booked.',
    body: object({}),
    answer: object({ received: only(true), known: flag('It is of an order or a refund of ours.') }),
    errors: ['invalid_input', 'endpoint_not_found', 'rate_limit_exceeded'],
    example: { body: { event: 'payment.succeeded', object: { id: '22d6d597-000f-5000-9000-145f6df21d6f' } } },
  },
})
