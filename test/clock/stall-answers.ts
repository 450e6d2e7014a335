import { wavFile } from '../harness/audio-files.ts'
import { converseEvent } from '../harness/aws.ts'

export const MESSAGES = [{ role: 'user', content: 'x' }]

/** A protocol's whole answer: with its list of parts, and one part; `text` is replaced by a text of any length. */
export interface Whole {
  readonly what: string
  readonly path: string
  readonly request: Readonly<Record<string, unknown>>
  readonly around: (parts: string) => string
  readonly part: (text: string) => string
}

const chatOf = (name: string): Pick<Whole, 'what' | 'path' | 'request'> => ({
  what: `chat of ${name}`,
  path: '/v1/chat/completions',
  request: { model: `test/${name}`, messages: MESSAGES },
})

const form = (model: string): Whole['request'] => ({
  model,
  input_audio: { data: wavFile(0.1).toString('base64'), format: 'wav' },
  response_format: 'verbose_json',
  timestamp_granularities: ['word'],
})

export const WHOLES: readonly Whole[] = [
  {
    ...chatOf('openai'),
    around: (parts) =>
      `{"choices":[{"message":{"content":[${parts}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
    part: (text) => `{"type":"text","text":"${text}"}`,
  },
  {
    ...chatOf('anthropic'),
    around: (parts) =>
      `{"type":"message","content":[${parts}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
    part: (text) => `{"type":"text","text":"${text}"}`,
  },
  {
    ...chatOf('gemini'),
    around: (parts) =>
      `{"candidates":[{"content":{"parts":[${parts}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`,
    part: (text) => `{"text":"${text}"}`,
  },
  {
    ...chatOf('bedrock'),
    around: (parts) =>
      `{"output":{"message":{"content":[${parts}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1}}`,
    part: (text) => `{"text":"${text}"}`,
  },
  {
    ...chatOf('cohere'),
    around: (parts) =>
      `{"message":{"content":[${parts}]},"finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":1,"output_tokens":1}}}`,
    part: (text) => `{"type":"text","text":"${text}"}`,
  },
  {
    ...chatOf('ollama'),
    around: (parts) =>
      `{"message":{"content":"x","tool_calls":[${parts}]},"done":true,"prompt_eval_count":1,"eval_count":1}`,
    part: (text) => `{"function":{"name":"f","arguments":{"a":"${text}"}}}`,
  },
  {
    what: 'responses',
    path: '/v1/responses',
    request: { model: 'test/native', input: 'x' },
    around: (parts) =>
      `{"object":"response","status":"completed","output":[{"type":"message","content":[${parts}]}],"usage":{"input_tokens":1,"output_tokens":1}}`,
    part: (text) => `{"type":"output_text","text":"${text}"}`,
  },
  {
    what: 'completions',
    path: '/v1/completions',
    request: { model: 'test/native', prompt: 'x' },
    around: (parts) => `{"choices":[${parts}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
    part: (text) => `{"text":"${text}","finish_reason":"stop"}`,
  },
  {
    what: 'embeddings',
    path: '/v1/embeddings',
    request: { model: 'test/vectors', input: 'x' },
    around: (parts) => `{"data":[${parts}],"usage":{"prompt_tokens":1}}`,
    part: (text) => `{"index":0,"embedding":"${text}"}`,
  },
  {
    what: "embeddings of Cohere's",
    path: '/v1/embeddings',
    request: { model: 'test/cohere-vectors', input: 'x' },
    around: (parts) => `{"embeddings":{"float":[${parts}]}}`,
    part: (text) => `["${text}"]`,
  },
  {
    what: 'rerank',
    path: '/v1/rerank',
    request: { model: 'test/ranking', query: 'x', documents: ['x', 'y'] },
    around: (parts) => `{"results":[${parts}],"usage":{"total_tokens":1}}`,
    part: (text) => `{"index":0,"relevance_score":0.5,"document":"${text}"}`,
  },
  {
    what: 'moderation',
    path: '/v1/moderations',
    request: { model: 'test/moderation', input: 'x' },
    around: (parts) => `{"results":[{"flagged":false,"categories":{},"category_scores":{},"more":[${parts}]}]}`,
    part: (text) => `{"category":"${text}"}`,
  },
  {
    what: 'images',
    path: '/v1/images/generations',
    request: { model: 'test/picture', prompt: 'x' },
    around: (parts) => `{"data":[${parts}]}`,
    part: (text) => `{"b64_json":"${text}"}`,
  },
  {
    what: 'transcription',
    path: '/v1/audio/transcriptions',
    request: form('test/whisper-1'),
    around: (parts) => `{"text":"x","duration":1,"words":[${parts}]}`,
    part: (text) => `{"word":"${text}","start":0,"end":1}`,
  },
  {
    what: "transcription of Deepgram's",
    path: '/v1/audio/transcriptions',
    request: form('test/nova-3'),
    around: (parts) =>
      `{"metadata":{"duration":1},"results":{"channels":[{"alternatives":[{"transcript":"x","words":[${parts}]}]}]}}`,
    part: (text) => `{"word":"${text}","start":0,"end":1}`,
  },
  {
    what: "transcription of ElevenLabs'",
    path: '/v1/audio/transcriptions',
    request: form('test/scribe_v1'),
    around: (parts) => `{"text":"x","words":[${parts}]}`,
    part: (text) => `{"text":"${text}","type":"word","start":0,"end":1}`,
  },
]

/** The same protocols by packages of the AI SDK, which parse and check an answer themselves. */
export const SDK_WHOLES: readonly Whole[] = [
  {
    ...chatOf('sdk-mistral'),
    around: (parts) =>
      `{"id":"a","model":"m","created":1,"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":[${parts}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`,
    part: (text) => `{"type":"text","text":"${text}"}`,
  },
  {
    ...chatOf('sdk-groq'),
    around: (parts) =>
      `{"id":"a","model":"m","created":1,"choices":[{"index":0,"message":{"role":"assistant","content":"x","tool_calls":[${parts}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
    part: (text) => `{"id":"a","type":"function","function":{"name":"f","arguments":"${text}"}}`,
  },
  {
    what: 'embeddings of sdk-mistral',
    path: '/v1/embeddings',
    request: { model: 'test/sdk-vectors', input: 'x' },
    around: (parts) => `{"data":[${parts}],"usage":{"prompt_tokens":1}}`,
    part: (text) => `{"embedding":[0.1],"x":"${text}"}`,
  },
  {
    what: 'rerank of sdk-cohere',
    path: '/v1/rerank',
    request: { model: 'test/sdk-ranking', query: 'x', documents: ['x', 'y'] },
    around: (parts) => `{"id":"a","results":[${parts}],"meta":{}}`,
    part: (text) => `{"index":0,"relevance_score":0.5,"x":"${text}"}`,
  },
  {
    what: 'transcription of sdk-groq',
    path: '/v1/audio/transcriptions',
    request: form('test/sdk-ear'),
    around: (parts) =>
      `{"text":"x","x_groq":{"id":"a"},"task":"transcribe","language":"english","duration":1,"segments":[${parts}]}`,
    part: (text) =>
      `{"id":0,"seek":0,"start":0,"end":1,"text":"${text}","tokens":[1],"temperature":0,"avg_logprob":0,"compression_ratio":1,"no_speech_prob":0}`,
  },
]

/** A protocol's stream: its beginning, a piece of text, and a piece of a tool call's arguments. */
interface Streamed {
  readonly what: string
  readonly path: string
  readonly request: Readonly<Record<string, unknown>>
  readonly type: string
  readonly written: (event: string) => Buffer
  readonly begin: readonly string[]
  readonly text: (text: string) => string
  readonly tool: (text: string) => string
}

export const sse = (event: string): Buffer => Buffer.from(`data: ${event}\n\n`)

const line = (event: string): Buffer => Buffer.from(`${event}\n`)

/** Converse has the names of its events outside of their JSON. */
const converse = (event: string): Buffer => {
  const [name = '', ...json] = event.split(' ')
  return converseEvent(name, JSON.parse(json.join(' ')))
}

const SSE_TYPE = 'text/event-stream'

export const STREAMS: readonly Streamed[] = [
  {
    ...chatOf('openai'),
    type: SSE_TYPE,
    written: sse,
    begin: [
      '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}',
    ],
    text: (text) => `{"choices":[{"index":0,"delta":{"content":"${text}"}}]}`,
    tool: (text) => `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"${text}"}}]}}]}`,
  },
  {
    ...chatOf('anthropic'),
    type: SSE_TYPE,
    written: sse,
    begin: [
      '{"type":"message_start","message":{"id":"a","usage":{"input_tokens":1}}}',
      '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
      '{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}',
    ],
    text: (text) => `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}`,
    tool: (text) =>
      `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"${text}"}}`,
  },
  {
    ...chatOf('gemini'),
    type: SSE_TYPE,
    written: sse,
    begin: [],
    text: (text) => `{"candidates":[{"content":{"parts":[{"text":"${text}"}]}}]}`,
    tool: (text) =>
      `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a","stringValue":"${text}"}],"willContinue":true}}]}}]}`,
  },
  {
    ...chatOf('bedrock'),
    type: 'application/vnd.amazon.eventstream',
    written: converse,
    begin: [
      'messageStart {"role":"assistant"}',
      'contentBlockStart {"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}',
    ],
    text: (text) => `contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"${text}"}}`,
    tool: (text) => `contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"${text}"}}}`,
  },
  {
    ...chatOf('cohere'),
    type: SSE_TYPE,
    written: sse,
    begin: [
      '{"type":"message-start","id":"a","delta":{"message":{"role":"assistant"}}}',
      '{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}',
      '{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","type":"function","function":{"name":"f","arguments":""}}}}}',
    ],
    text: (text) => `{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"${text}"}}}}`,
    tool: (text) =>
      `{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"${text}"}}}}}`,
  },
  {
    ...chatOf('ollama'),
    type: 'application/x-ndjson',
    written: line,
    begin: [],
    text: (text) => `{"message":{"role":"assistant","content":"${text}"},"done":false}`,
    tool: (text) => `{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":"${text}"}}}]},"done":false}`,
  },
  {
    what: 'responses',
    path: '/v1/responses',
    request: { model: 'test/native', input: 'x' },
    type: SSE_TYPE,
    written: sse,
    begin: [
      '{"type":"response.created","response":{"id":"a"}}',
      '{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}',
      '{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"f","arguments":""}}',
    ],
    text: (text) =>
      `{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":"${text}"}`,
    tool: (text) =>
      `{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"f","delta":"${text}"}`,
  },
  {
    what: 'completions',
    path: '/v1/completions',
    request: { model: 'test/native', prompt: 'x' },
    type: SSE_TYPE,
    written: sse,
    begin: [],
    text: (text) => `{"choices":[{"index":0,"text":"${text}","finish_reason":null}]}`,
    tool: (text) => `{"choices":[{"index":7,"text":"${text}","finish_reason":null}]}`,
  },
]

const openaiChunk = (delta: string): string =>
  `{"id":"a","model":"m","created":1,"choices":[{"index":0,"delta":${delta}}]}`

export const SDK_STREAMS: readonly Streamed[] = ['sdk-mistral', 'sdk-groq'].map((name) => ({
  ...chatOf(name),
  type: SSE_TYPE,
  written: sse,
  begin: [],
  text: (text) => openaiChunk(`{"role":"assistant","content":"${text}"}`),
  tool: (text) =>
    openaiChunk(
      `{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"${text}"}}]}`,
    ),
}))
