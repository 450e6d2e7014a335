const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }
const CONTENT = { parts: [{ text: 'x' }] }

/** Small valid bodies of the calls of Gemini's protocol. */
const GEMINI: Readonly<Record<string, unknown>> = {
  generateContent: CONTENTS,
  streamGenerateContent: CONTENTS,
  countTokens: CONTENTS,
  embedContent: { content: CONTENT },
  batchEmbedContents: { requests: [{ content: CONTENT }] },
}

/** The same by route, with those of Cohere's and Ollama's protocols. */
export const PROTOCOL_BODIES: Readonly<Record<string, unknown>> = {
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

/** The end of a path that calls a model by a verb; null = it has none. */
export function calledModel(segment: string): string | null {
  const [, word = ''] = segment.slice(1).split(':')
  if (word === '') return null
  return `${/embed/i.test(word) ? 'sandbox/embeddings' : 'sandbox/chat'}:${word}`
}
