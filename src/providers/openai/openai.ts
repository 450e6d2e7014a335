import { imagesOverChat } from '../answers/images-over-chat.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { failure } from '../ports/attempt-failure.ts'
import type { AnswerSink, ChatCall } from '../ports/call.ts'
import { ask, askRerank } from '../upstream/ask.ts'
import { askEmbeddings } from '../upstream/embeddings.ts'
import { inTurns, type ResponseReader } from '../upstream/response.ts'
import { parseWithLogprobs } from '../wire/lifted-logprobs.ts'
import { objectOf } from '../wire/raw-json.ts'
import { eventFailure, upstreamFailure } from '../wire/upstream-error.ts'
import { openaiAnswer } from './answer.ts'
import { openaiCompletions } from './completions.ts'
import { openaiCredentials } from './credentials.ts'
import { openaiEmbeddings } from './embeddings.ts'
import { imageEditsOf } from './image-traits.ts'
import { openaiImages, OPENAI_IMAGE_PARAMETERS } from './images.ts'
import { openaiBytes, OPENAI_PARAMETERS } from './request.ts'
import { openaiModerations } from './moderations.ts'
import { openaiRerank } from './rerank.ts'
import { openaiResponses } from './responses/responses.ts'
import { openaiSpeech } from './speech.ts'
import { OpenaiStream } from './stream.ts'
import { openaiTranscription } from './transcription.ts'
import { openaiVideos, OPENAI_VIDEO_PARAMETERS } from './videos.ts'

const CHAT_PATH = '/chat/completions'

/** OpenAI's protocol and every dialect of it. */
export function createOpenai({ transport, files, jobs, now }: AdapterPorts): Adapter {
  const chat: NonNullable<Adapter['chat']> = (call, sink) => {
    const { endpoint, request, apiKey } = call
    const { provider } = endpoint
    return ask(
      transport,
      { endpoint, streaming: request.stream },
      {
        path: CHAT_PATH + provider.dialect.query,
        body: openaiBytes(call),
        headers: openaiCredentials(provider, apiKey),
      },
      openaiReader(call, sink, now),
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
    chatImages: imagesOverChat(chat, files),
    completions: openaiCompletions(transport, now),
    responses: openaiResponses(transport, now),
    embeddings: askEmbeddings(openaiEmbeddings(now), transport),
    rerank: askRerank(openaiRerank(now), transport),
    moderations: openaiModerations(transport, now),
    images: openaiImages({ transport, files, now }),
    imageEdits: imageEditsOf,
    speech: openaiSpeech(transport, now),
    transcription: openaiTranscription(transport, now),
    videos: openaiVideos(jobs, now),
  }
}

function openaiReader(call: ChatCall, sink: AnswerSink, now: () => number): ResponseReader {
  return {
    stream: call.request.stream ? new OpenaiStream(call, sink) : null,
    whole: (bytes) =>
      inTurns(parseWithLogprobs(bytes), ({ json, logprobs }) => {
        const error = objectOf(json)?.['error'] ?? null
        if (error !== null) return eventFailure(error)
        if (call.request.stream) return failure('garbage', null, `a JSON answer to a stream of ${call.endpoint.id}`)
        const events = openaiAnswer(json, logprobs, call.generationId)
        if (events === null) return failure('garbage', null, 'the answer is not a chat completion')
        sink.push(events)
        return null
      }),
    error: (status, body, headers) => upstreamFailure(status, body, headers, now()),
  }
}
