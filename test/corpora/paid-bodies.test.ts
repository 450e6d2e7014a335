import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/base/errors.ts'
import { parseChat } from '../../src/protocols/openai/client/chat/call.ts'
import { ChatBody } from '../../src/protocols/openai/client/chat/schema.ts'
import { parseCompletions } from '../../src/protocols/openai/client/completions.ts'
import { CompletionsBody } from '../../src/protocols/openai/client/completions.ts'
import { parseCohereChat, parseCohereEmbed } from '../../src/protocols/cohere/client/calls.ts'
import { CohereChatBody, CohereEmbedBody } from '../../src/protocols/cohere/client/schema.ts'
import { ManagedKeyBody } from '../../src/api/public/contract.ts'
import { parseBatchEmbed, parseEmbedContent } from '../../src/protocols/gemini/client/embed.ts'
import { parseGenerateContent } from '../../src/protocols/gemini/client/parse.ts'
import {
  BatchEmbedBody,
  CountTokensBody,
  EmbedContentBody,
  GenerateContentBody,
} from '../../src/protocols/gemini/client/schema.ts'
import { parseEmbeddings } from '../../src/protocols/openai/client/embeddings.ts'
import { EmbeddingsBody } from '../../src/protocols/openai/client/embeddings.ts'
import { parseImageEdit, parseImageVariation } from '../../src/protocols/openai/client/images.ts'
import { parseImages } from '../../src/protocols/openai/client/images.ts'
import { ImageEditBody, ImagesBody, ImageVariationBody } from '../../src/protocols/openai/client/images.ts'
import { parseCountedMessages, parseMessages } from '../../src/protocols/anthropic/client/parse.ts'
import { CountedMessagesBody, MessagesBody } from '../../src/protocols/anthropic/client/schema.ts'
import { parseModeration } from '../../src/protocols/openai/client/moderations.ts'
import { ModerationBody } from '../../src/protocols/openai/client/moderations.ts'
import { parseOllamaEmbed, parseOllamaChat } from '../../src/protocols/ollama/client/calls.ts'
import { OllamaChatBody, OllamaEmbedBody } from '../../src/protocols/ollama/client/schema.ts'
import { parseRerank } from '../../src/protocols/openai/client/rerank.ts'
import { RerankBody } from '../../src/protocols/openai/client/rerank.ts'
import { parseResponses } from '../../src/protocols/responses/client/parse.ts'
import { ResponsesBody } from '../../src/protocols/responses/client/schema.ts'
import { parseSpeech } from '../../src/protocols/openai/client/speech.ts'
import { SpeechBody } from '../../src/protocols/openai/client/speech.ts'
import { parseTranscription } from '../../src/protocols/openai/client/transcription.ts'
import { TranscriptionBody } from '../../src/protocols/openai/client/transcription.ts'
import { parseVideo } from '../../src/protocols/videos/client.ts'
import { VideoBody } from '../../src/protocols/videos/client.ts'
import { PUBLIC_ROUTES } from '../../src/api/reference/public-routes.ts'
import type { JsonSchema } from '../../src/base/schema.ts'
import { wavFile } from '../harness/audio-files.ts'
import { isRead, variants, type Body } from './body-variants.ts'
import { faultsOf } from '../harness/contract-check.ts'

/**
 * Only the reader has rules of two fields together (`best_of` and `n`, `duration` and `seconds`, two efforts), and
 * knows whether bytes are audio.
 */
interface Kind {
  readonly schema: JsonSchema
  readonly read: (body: unknown) => unknown
  /** Valid bodies; others are made from them. */
  readonly right: readonly Body[]
}

const USER = { role: 'user', content: 'x' }
const SOUND = { data: wavFile(0.01).toString('base64'), format: 'wav' }
const PICTURE = 'https://example.com/a.png'
const KINDS: Readonly<Record<string, Kind>> = {
  chat: {
    schema: ChatBody,
    read: parseChat,
    right: [
      { messages: [USER] },
      { prompt: 'x' },
      {
        model: 'a/b',
        messages: [
          { role: 'system', content: 'x', name: 'n' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'x' },
              { type: 'image_url', image_url: { url: 'x' } },
            ],
          },
          { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
          { role: 'tool', tool_call_id: 'c', content: 'x' },
        ],
        tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
        tool_choice: { type: 'function', function: { name: 'f' } },
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } },
        reasoning: { exclude: true },
        provider: { order: ['a'], sort: { by: 'price' }, max_price: { prompt: 1 } },
        stream_options: { include_usage: true },
      },
    ],
  },
  responses: {
    schema: ResponsesBody,
    read: (body) => parseResponses(body, { history: [], resolved: null, isKept: true, socket: false }),
    right: [{ input: 'x' }, { input: [USER], model: 'a/b', metadata: { a: 'b' }, reasoning: { effort: 'low' } }],
  },
  messages: {
    schema: MessagesBody,
    read: (body) => parseMessages(body, { headers: {}, bytes: 0 }),
    right: [
      { max_tokens: 10, messages: [USER] },
      {
        model: 'a/b',
        max_tokens: 10,
        system: [{ type: 'text', text: 'x' }],
        messages: [USER],
        tools: [{ name: 'f', input_schema: {} }],
        tool_choice: { type: 'tool', name: 'f' },
        thinking: { type: 'enabled', budget_tokens: 1_024 },
        output_config: { effort: 'low', format: { type: 'json_schema', schema: {} } },
        metadata: { user_id: 'u' },
      },
    ],
  },
  generateContent: {
    schema: GenerateContentBody,
    read: (body) => parseGenerateContent(body, { model: 'a/b', stream: false, framing: 'array' }),
    right: [
      { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
      {
        contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'QUJD' } }] }],
        systemInstruction: { parts: [{ text: 'x' }] },
        generationConfig: {
          temperature: 1,
          topP: 1,
          seed: 1,
          maxOutputTokens: 1,
          candidateCount: 1,
          stopSequences: ['x'],
          thinkingConfig: { thinkingBudget: 1, thinkingLevel: 'LOW' },
        },
      },
    ],
  },
  cohereChat: {
    schema: CohereChatBody,
    read: parseCohereChat,
    right: [{ messages: [USER], max_tokens: 1, stop_sequences: ['x'], temperature: 0.5, p: 0.5, k: 1 }],
  },
  ollamaChat: {
    schema: OllamaChatBody,
    read: parseOllamaChat,
    right: [
      {
        messages: [USER],
        stream: false,
        think: true,
        format: 'json',
        options: { temperature: 0.5, top_p: 0.5, top_k: 1, seed: 1, num_predict: 1, repeat_penalty: 1, stop: ['x'] },
      },
    ],
  },
  ollamaEmbed: {
    schema: OllamaEmbedBody,
    read: parseOllamaEmbed,
    right: [
      { model: 'a/b', input: 'x' },
      { model: 'a/b', input: ['x'], dimensions: 3 },
    ],
  },
  countedMessages: {
    schema: CountedMessagesBody,
    read: parseCountedMessages,
    right: [{ messages: [USER] }, { model: 'a/b', messages: [USER], tools: [{ name: 'f', input_schema: {} }] }],
  },
  embedContent: {
    schema: EmbedContentBody,
    read: (body) => parseEmbedContent(body, 'a/b'),
    right: [{ content: { parts: [{ text: 'x' }] } }, { content: { parts: [{ text: 'x' }] }, outputDimensionality: 3 }],
  },
  batchEmbed: {
    schema: BatchEmbedBody,
    read: (body) => parseBatchEmbed(body, 'a/b'),
    right: [{ requests: [{ content: { parts: [{ text: 'x' }] } }] }],
  },
  cohereEmbed: {
    schema: CohereEmbedBody,
    read: parseCohereEmbed,
    right: [
      { model: 'a/b', texts: ['x'] },
      { model: 'a/b', texts: ['x'], embedding_types: ['float'], output_dimension: 3 },
    ],
  },
  imageEdit: {
    schema: ImageEditBody,
    read: (json) => parseImageEdit({ json }),
    right: [{ model: 'a/b', prompt: 'x', image: [PICTURE] }],
  },
  imageVariation: {
    schema: ImageVariationBody,
    read: (json) => parseImageVariation({ json }),
    right: [{ model: 'a/b', image: PICTURE }],
  },
  completions: { schema: CompletionsBody, read: parseCompletions, right: [{ prompt: 'x' }, { prompt: ['x', 'y'] }] },
  embeddings: {
    schema: EmbeddingsBody,
    read: parseEmbeddings,
    right: [
      { model: 'a/b', input: 'x' },
      { model: 'a/b', input: ['x'] },
      { model: 'a/b', input: [[1], [2]], dimensions: 3 },
    ],
  },
  rerank: {
    schema: RerankBody,
    read: parseRerank,
    right: [{ model: 'a/b', query: 'x', documents: ['y', { text: 'z' }] }],
  },
  moderation: {
    schema: ModerationBody,
    read: parseModeration,
    right: [
      { input: 'x' },
      { model: 'a/b', input: ['x', 'y'] },
      {
        model: 'a/b',
        input: [
          { type: 'text', text: 'x' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
    ],
  },
  images: {
    schema: ImagesBody,
    read: parseImages,
    right: [{ model: 'a/b', prompt: 'x', image_config: { aspect_ratio: '1:1' } }],
  },
  speech: { schema: SpeechBody, read: parseSpeech, right: [{ model: 'a/b', input: 'x', voice: { id: 'v' } }] },
  transcription: {
    schema: TranscriptionBody,
    read: transcriptionOf,
    right: [{ model: 'a/b', input_audio: SOUND }],
  },
  video: { schema: VideoBody, read: parseVideo, right: [{ model: 'a/b', prompt: 'x' }] },
}

async function transcriptionOf(body: unknown): Promise<unknown> {
  try {
    return await parseTranscription(body, 'transcribe')
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.message.startsWith('input_audio.data: is no sound')) return null
    throw thrown
  }
}

for (const [name, { schema, read, right }] of Object.entries(KINDS)) {
  test(`${name}: the reader and the schema take and refuse the same bodies`, async () => {
    const apart = new Set<string>()
    let [taken, refused] = [0, 0]
    for (const base of right) {
      assert.ok(await isRead(read, base))
      assert.deepEqual(faultsOf(schema, base), [])
      for (const body of variants(schema, base)) {
        const accepts = await isRead(read, body)
        if (accepts) taken += 1
        else refused += 1
        if (accepts !== (faultsOf(schema, body).length === 0))
          apart.add(`the reader ${accepts ? 'takes' : 'refuses'} ${JSON.stringify(body).slice(0, 300)}`)
      }
    }
    assert.ok(taken > 20 && refused > 100, `${taken} taken, ${refused} refused`)
    assert.deepEqual([...apart], [])
  })
}

/** Bodies that are not tried here, each with the reason. */
const ELSEWHERE: ReadonlyMap<JsonSchema, string> = new Map<JsonSchema, string>([
  [ManagedKeyBody, 'console-bodies.test.ts'],
  [CountTokensBody, 'its contents are those of generateContent, alone or in generateContentRequest'],
])

test('every body that a public route takes is tried', () => {
  const tried = new Set<JsonSchema>([...Object.values(KINDS).map(({ schema }) => schema), ...ELSEWHERE.keys()])
  const untried = Object.entries(PUBLIC_ROUTES).filter(
    ([name, { body }]) => name.startsWith('POST /v') && body !== undefined && !tried.has(body),
  )
  assert.deepEqual(
    untried.map(([name]) => name),
    [],
  )
})
