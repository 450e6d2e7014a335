import type { Adapter, AnswerSink, ChatCall } from './adapter.ts'
import { askEmbeddings } from './embeddings-call.ts'
import type { FileFetch } from './file-fetch.ts'
import { parseWithLogprobs } from './lifted-logprobs.ts'
import { openaiAnswer } from './openai-answer.ts'
import { openaiCompletions } from './openai-completions.ts'
import { openaiCredentials } from './openai-credentials.ts'
import { openaiEmbeddings } from './openai-embeddings.ts'
import { openaiImages, OPENAI_IMAGE_PARAMETERS } from './openai-images.ts'
import { OPENAI_PARAMETERS } from './openai-parameters.ts'
import { openaiBody } from './openai-request.ts'
import { openaiRerank } from './openai-rerank.ts'
import { openaiResponses } from './openai-responses/openai-responses.ts'
import { openaiSpeech } from './openai-speech.ts'
import { OpenaiStream } from './openai-stream.ts'
import { openaiTranscription } from './openai-transcription.ts'
import { objectOf } from './raw-json.ts'
import { askRerank } from './rerank-call.ts'
import { failure, type Transport } from './transport.ts'
import { inTurns, UpstreamCall, type AnswerReader } from './upstream-call.ts'
import { eventFailure, upstreamFailure } from './upstream-error.ts'

const CHAT_PATH = '/chat/completions'

/** OpenAI's protocol and every dialect of it. */
export function createOpenai(transport: Transport, now: () => number, files: FileFetch): Adapter {
  const embeddings = openaiEmbeddings(now)
  const rerank = openaiRerank(now)
  return {
    name: 'openai',
    supportedParameters: OPENAI_PARAMETERS,
    chat: (call, sink) => {
      const request = {
        provider: call.endpoint.provider,
        path: CHAT_PATH + call.endpoint.provider.dialect.query,
        body: Buffer.from(JSON.stringify(openaiBody(call))),
        headers: openaiCredentials(call.endpoint.provider, call.apiKey),
        streaming: call.request.stream,
      }
      return new UpstreamCall(transport, request, openaiReader(call, sink, now), sink)
    },
    completions: openaiCompletions(transport, now),
    responses: openaiResponses(transport, now),
    unitParameters: {
      embeddings: ['dimensions', 'encoding_format', 'input_type', 'user'],
      rerank: ['top_n'],
      image: OPENAI_IMAGE_PARAMETERS,
      tts: ['voice', 'response_format', 'speed', 'instructions', 'stream_format'],
      transcription: ['language', 'prompt', 'temperature', 'response_format', 'timestamp_granularities'],
    },
    embeddings: (call, sink) => askEmbeddings(embeddings, transport, call, sink),
    rerank: (call, sink) => askRerank(rerank, transport, call, sink),
    images: openaiImages({ transport, files, now }),
    speech: openaiSpeech(transport, now),
    transcription: openaiTranscription(transport, now),
  }
}

function openaiReader(call: ChatCall, sink: AnswerSink, now: () => number): AnswerReader {
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
