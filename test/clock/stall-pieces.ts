import { MESSAGES } from './stall-answers.ts'

export const numbered = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_value, index) => make(index)).join(',')

export const many = (item: string, count: number): string => `${`${item},`.repeat(count - 1)}${item}`

/** A chat by each protocol of a client, other than OpenAI's. */
export const DOORS: readonly (readonly [
  what: string,
  ask: (model: string) => readonly [path: string, body: object],
])[] = [
  ['Messages', (model) => ['/v1/messages', { model, max_tokens: 1_000, stream: true, messages: MESSAGES }]],
  [
    "Gemini's",
    (model) => [`/v1beta/models/${model}:streamGenerateContent?alt=sse`, { contents: [{ parts: [{ text: 'x' }] }] }],
  ],
  ["Ollama's", (model) => ['/api/chat', { model, messages: MESSAGES }]],
  ["Cohere's", (model) => ['/v2/chat', { model, stream: true, messages: MESSAGES }]],
  ['Responses', (model) => ['/v1/responses', { model, stream: true, input: 'x' }]],
]

/** The answers of a video provider to a submission, and to a look at its job. */
export const JOBS: readonly (readonly [
  model: string,
  accepted: string,
  ended: (part: string) => string,
  failed: (message: string) => string,
])[] = [
  [
    'sora-2',
    '{"id":"v","status":"queued"}',
    (part) => `{"id":"v","status":"failed","x":[${part}]}`,
    (message) => `{"id":"v","status":"failed","error":{"message":"${message}"}}`,
  ],
  [
    'veo-3',
    '{"name":"operations/v"}',
    (part) => `{"name":"operations/v","done":true,"response":{"generateVideoResponse":{"generatedSamples":[${part}]}}}`,
    (message) => `{"name":"operations/v","error":{"code":3,"message":"${message}"}}`,
  ],
  [
    'acme/film',
    '{"id":"v","status":"starting"}',
    (part) => `{"id":"v","status":"succeeded","output":[${part}],"logs":"${'12%|'.repeat(50_000)}"}`,
    (message) => `{"id":"v","status":"failed","error":"${message}"}`,
  ],
]

const TOKENS = ['hello', 'the', ' of', ' слово', '\\n', '\\"a\\"', ' yz']
/** The most that a client may ask the probabilities of. */
export const LISTED_TOKENS = 16_000
export const TOPS = 20

export function openaiLogprobs(count: number): string {
  const token = (index: number): string =>
    `{"token":"${TOKENS[index % TOKENS.length]}","logprob":${-(index % 1_000) / 137},"bytes":[104,101,108,108,111]}`
  const entry = (index: number): string =>
    `${token(index).slice(0, -1)},"top_logprobs":[${numbered(TOPS, (place) => token(index + place))}]}`
  return `{"content":[${numbered(count, entry)}],"refusal":null}`
}

export function geminiLogprobs(count: number): string {
  const token = (index: number): string =>
    `{"token":"${TOKENS[index % TOKENS.length]}","logProbability":${-(index % 1_000) / 137},"tokenId":${index}}`
  return `{"topCandidates":[${numbered(count, (index) => `{"candidates":[${numbered(TOPS, (place) => token(index + place))}]}`)}],"chosenCandidates":[${numbered(count, token)}],"logProbabilitySum":-1.5}`
}
