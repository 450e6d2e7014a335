import assert from 'node:assert/strict'
import type { Answer } from './api-client.ts'
import { wavFile } from './audio-files.ts'

const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }
const CONTENT = { parts: [{ text: 'x' }] }

/** Small valid bodies for the calls of Gemini's protocol. */
const GEMINI: Readonly<Record<string, unknown>> = {
  generateContent: CONTENTS,
  streamGenerateContent: CONTENTS,
  countTokens: CONTENTS,
  embedContent: { content: CONTENT },
  batchEmbedContents: { requests: [{ content: CONTENT }] },
}

/** Small valid bodies by route, including those of Cohere's and Ollama's protocols. */
const PROTOCOL_BODIES: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(
    ['v1beta', 'v1', 'v1alpha'].flatMap((version) =>
      Object.entries(GEMINI).map(([word, body]) => [`POST /${version}/models/*model:${word}`, body]),
    ),
  ),
  'POST /v2/chat': { model: 'sandbox/chat', messages: [{ role: 'user', content: 'x' }] },
  'POST /v2/embed': { model: 'sandbox/embeddings', texts: ['x'] },
  'POST /api/chat': { model: 'sandbox/chat', messages: [{ role: 'user', content: 'x' }], stream: false },
  'POST /api/embed': { model: 'sandbox/embeddings', input: 'x' },
  'POST /v2/rerank': { model: 'sandbox/rerank', query: 'x', documents: ['a'] },
}

/** The end of a path that calls a method of a model; null = the path has none. */
export function calledModel(segment: string): string | null {
  const [, word = ''] = segment.slice(1).split(':')
  if (word === '') return null
  return `${/embed/i.test(word) ? 'sandbox/embeddings' : 'sandbox/chat'}:${word}`
}

const JSON_TYPE = 'application/json; charset=utf-8'
const PICTURE = 'https://example.com/a.png'
const SOUND = { data: wavFile(0.01).toString('base64'), format: 'wav' }
const MESSAGES_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
}

/** A valid body for each route that takes one. */
export const BODIES: Readonly<Record<string, unknown>> = {
  'POST /v1/chat/completions': { model: 'sandbox/chat', messages: [{ role: 'user', content: 'x' }] },
  'POST /v1/responses': { model: 'sandbox/chat', input: 'x' },
  'POST /v1/messages': { model: 'sandbox/chat', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] },
  'POST /v1/messages/count_tokens': { model: 'sandbox/chat', messages: [{ role: 'user', content: 'x' }] },
  ...PROTOCOL_BODIES,
  'POST /v1/completions': { model: 'sandbox/chat', prompt: 'x' },
  'POST /v1/embeddings': { model: 'sandbox/embeddings', input: 'x' },
  'POST /v1/rerank': { model: 'sandbox/rerank', query: 'x', documents: ['a'] },
  'POST /v1/moderations': { model: 'sandbox/moderation', input: 'x' },
  'POST /v1/images/generations': { model: 'sandbox/image', prompt: 'x' },
  'POST /v1/images': { model: 'sandbox/image', prompt: 'x' },
  'POST /v1/images/edits': { model: 'sandbox/image', prompt: 'x', image: PICTURE },
  'POST /v1/images/variations': { model: 'sandbox/image', image: PICTURE },
  'POST /v1/audio/speech': { model: 'sandbox/tts', input: 'x', voice: 'alloy' },
  'POST /v1/audio/transcriptions': { model: 'sandbox/transcription', input_audio: SOUND },
  'POST /v1/audio/translations': { model: 'sandbox/transcription', input_audio: SOUND },
  'POST /v1/videos': { model: 'sandbox/video', prompt: 'x', duration: 4 },
  'POST /v1/keys': { name: 'x' },
  'POST /cabinet/v1/members/:id/remove': { disable_keys: false },
  'POST /setup': { token: 'A'.repeat(43), email: 'x@example.com', password: 'correct horse battery' },
}

/** The status and the type of an error in any protocol. */
export function errorOf(answer: Answer, what: string): { readonly status: number; readonly type: string } {
  assert.equal(answer.headers['content-type'], JSON_TYPE, what)
  assert.match(answer.headers['x-request-id'] ?? '', /^[A-Za-z0-9._:-]+$/, what)
  if (answer.body.type === 'error') return messagesErrorOf(answer, what)
  if (typeof answer.body.message === 'string') return plainErrorOf(answer, answer.body.message, what)
  assert.deepEqual(Object.keys(answer.body), ['error'], what)
  if (typeof answer.body.error === 'string') return plainErrorOf(answer, answer.body.error, what)
  if (Array.isArray(answer.body.error.details)) return plainErrorOf(answer, answer.body.error.message, what)
  const { code, message, metadata } = answer.body.error
  assert.equal(code, answer.status, what)
  assert.ok(typeof message === 'string' && message.length > 0, what)
  return { status: answer.status, type: metadata.error_type }
}

/** Anthropic's error form has a type for each status, and not our own error type. */
function messagesErrorOf({ status, body, headers }: Answer, what: string): ReturnType<typeof errorOf> {
  assert.equal(body.request_id, headers['request-id'], what)
  const type = MESSAGES_TYPES[status]
  assert.ok(type !== undefined, `${what}: ${status}`)
  assert.equal(body.error.type, type, what)
  return { status, type: typeOf(status, body.error.message) }
}

/** Other protocols have only a message. */
function plainErrorOf({ status }: Answer, message: string, what: string): ReturnType<typeof errorOf> {
  assert.ok(MESSAGES_TYPES[status] !== undefined, `${what}: ${status}`)
  return { status, type: typeOf(status, message) }
}

function typeOf(status: number, message: string): string {
  if (status === 403) return 'access_denied'
  return message.startsWith('Missing') ? 'missing_api_key' : 'invalid_api_key'
}

/** An unknown id of the same form. */
export function absent(id: string): string {
  return `${id.slice(0, -4)}${id.slice(-4).replaceAll(/[0-9A-Za-z]/g, 'Q')}`
}
