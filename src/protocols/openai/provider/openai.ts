import { eventText, isContent, tierEvents, type AnswerEvent } from '../../../kinds/answer/event.ts'
import { namedReason } from '../../../kinds/answer/finish-reason.ts'
import type { JsonBytes } from '../../../base/json-text.ts'
import { imagesOverChat } from '../../answers/images-over-chat.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../ports/adapter.ts'
import { failure } from '../../ports/attempt-failure.ts'
import type { AnswerSink, ChatCall } from '../../ports/call.ts'
import { ask } from '../../upstream/ask.ts'
import { askRerank, readRanking, topNField, type RerankProtocol } from '../../upstream/rerank.ts'
import { askEmbeddings } from '../../upstream/embeddings.ts'
import { inTurns, type ResponseReader } from '../../upstream/response.ts'
import { logprobsOf, parseWithLogprobs } from '../../wire/lifted-logprobs.ts'
import { listOf, objectOf, textOf, type RawJson } from '../../wire/raw-json.ts'
import { isErrorBody } from '../../wire/error-body.ts'
import { toolCallId } from '../../answers/tool-calls.ts'
import { openaiCompletions } from './completions.ts'
import { openaiEmbeddings } from './embeddings.ts'
import { imageEditsOf } from './image-traits.ts'
import { OPENAI_IMAGE_PARAMETERS, openaiImages } from './images.ts'
import { OPENAI_PARAMETERS, openaiBytes, openaiReasoning } from './request.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../upstream/models.ts'
import { asksStream, fittedRequest } from './quirks.ts'
import { openaiModerations } from './moderations.ts'
import { openaiResponses } from '../../responses/provider/responses.ts'
import { openaiSpeech } from './speech.ts'
import { OpenaiStream } from './stream.ts'
import { openaiTranscription } from './transcription.ts'
import { OPENAI_VIDEO_PARAMETERS, openaiVideos } from './videos.ts'
import { contentEvents, legacyCall, readToolCall, type CompleteToolCall } from './delta.ts'
import { openaiErrorBody, openaiUsage } from './usage.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'

const CHAT_PATH = '/chat/completions'
const OPENROUTER = 'openrouter.ai'

/** OpenAI's protocol and every dialect of it. */
export function createOpenai({ transport, files, jobs }: AdapterPorts): Adapter {
  const chat: NonNullable<Adapter['chat']> = (call, sink) => {
    const { endpoint, request, apiKey } = call
    const { provider } = endpoint
    return ask(
      transport,
      { endpoint, streaming: asksStream(request, endpoint.dialect) },
      {
        path: CHAT_PATH + provider.dialect.query,
        body: openaiBytes(call),
        headers: keyHeaders(provider.dialect, apiKey),
      },
      openaiReader(call, sink),
      sink,
    )
  }
  return {
    name: 'openai',
    parameters: {
      ...NO_PARAMETERS,
      chat: OPENAI_PARAMETERS,
      embeddings: ['dimensions', 'encoding_format', 'input_type', 'user'],
      rerank: ['top_n'],
      image: OPENAI_IMAGE_PARAMETERS,
      tts: ['voice', 'response_format', 'speed', 'instructions', 'stream_format'],
      transcription: ['language', 'prompt', 'temperature', 'response_format', 'timestamp_granularities'],
      video: OPENAI_VIDEO_PARAMETERS,
    },
    chat,
    leaves: (endpoint, request) => [
      ...(Object.keys(openaiReasoning(endpoint, request, null)).length > 0 ? [] : ['reasoning']),
      ...fittedRequest(request, endpoint).changed,
    ],
    chatImages: imagesOverChat(chat, files),
    completions: openaiCompletions(transport),
    responses: openaiResponses(transport),
    embeddings: askEmbeddings(openaiEmbeddings, transport),
    rerank: askRerank(openaiRerank, transport),
    moderations: openaiModerations(transport),
    images: openaiImages({ transport, files }),
    imageEdits: imageEditsOf,
    speech: openaiSpeech(transport),
    transcription: openaiTranscription(transport),
    videos: openaiVideos(jobs),
    models: askModels(OPENAI_MODELS, jobs),
  }
}

const OPENAI_MODELS: ModelListProtocol = {
  request: (provider, apiKey) => ({
    // OpenRouter's public list would also answer a wrong key.
    path: `/models${new URL(provider.baseUrl).host === OPENROUTER ? '/user' : ''}${provider.dialect.query}`,
    headers: keyHeaders(provider.dialect, apiKey),
  }),
  entries: entriesIn('data'),
  model: (entry) => listedModel(entry, textOf(entry['id'])),
}

/** Reads an answer of chat, streamed or not. */
export function openaiReader(call: ChatCall, sink: AnswerSink): ResponseReader {
  return {
    stream: asksStream(call.request, call.endpoint.dialect) ? new OpenaiStream(call, sink) : null,
    whole: (bytes) =>
      inTurns(parseWithLogprobs(bytes), ({ json, logprobs }) => {
        const body = objectOf(json)
        if (isErrorBody(body)) return openaiErrorBody(body)
        if (call.request.stream) return failure('garbage', null, `a JSON answer to a stream of ${call.endpoint.id}`)
        const events = openaiAnswer(json, logprobs, call)
        if (events === null) return failure('garbage', null, 'the answer is not a chat completion')
        sink.push(events)
        return null
      }),
  }
}

/** `/rerank` of OpenRouter, Jina, Together, Voyage and others. The documents are not requested back: we have them. */
const openaiRerank: RerankProtocol = {
  request: (call) => {
    const { endpoint, request } = call
    const { dialect } = endpoint.provider
    return {
      path: `/rerank${dialect.query}`,
      body: {
        model: endpoint.upstreamModel,
        query: request.query,
        documents: request.documents,
        ...topNField(call, dialect.names['top_n']),
      },
      headers: keyHeaders(call.endpoint.provider.dialect, call.apiKey),
    }
  },
  answer: readRanking,
}

/** A complete answer of any OpenAI dialect; null when the body is none. */
function openaiAnswer(
  body: unknown,
  logprobs: readonly JsonBytes[],
  { generationId, endpoint }: ChatCall,
): readonly AnswerEvent[] | null {
  const object = objectOf(body)
  if (object === null || !Array.isArray(object['choices'])) return null
  const events: AnswerEvent[] = [
    { type: 'origin', upstreamId: textOf(object['id']), systemFingerprint: textOf(object['system_fingerprint']) },
    ...tierEvents(object['service_tier']),
  ]
  for (const [position, raw] of listOf(object['choices']).entries())
    for (const event of readChoice(objectOf(raw) ?? {}, position, logprobs, generationId)) events.push(event)
  const usage = openaiUsage(object['usage'], endpoint.priced.has('search'))
  if (usage !== null) events.push({ type: 'usage', usage })
  return events
}

function readChoice(
  object: RawJson,
  position: number,
  logprobs: readonly JsonBytes[],
  generationId: string,
): readonly AnswerEvent[] {
  const message = objectOf(object['message']) ?? {}
  const choice = typeof object['index'] === 'number' ? object['index'] : position
  const events = [...contentEvents(message, choice, logprobsOf(object['logprobs'], logprobs))]
  const calls: CompleteToolCall[] = listOf(message['tool_calls']).flatMap((call, place) => {
    const read = readToolCall(call, toolCallId(generationId, choice, place))
    return read === null ? [] : [read]
  })
  const legacy = calls.length === 0 ? legacyCall(message) : null
  if (legacy !== null && legacy.name !== '')
    calls.push({ ...legacy, id: toolCallId(generationId, choice, 0, legacy.state) })
  // An answer without content is the empty text, unless it has a tool call.
  if (
    message['content'] === '' &&
    calls.length === 0 &&
    !events.some((event) => isContent(event) && eventText(event) !== '')
  )
    events.push({ type: 'text', choice, text: '' })
  for (const [index, { id, name, arguments: text }] of calls.entries()) {
    events.push({ type: 'tool_call', choice, index, id, name })
    if (text !== '') events.push({ type: 'tool_arguments', choice, index, text })
  }
  events.push({ type: 'finish', choice, native: namedReason(object['finish_reason']) })
  return events
}
