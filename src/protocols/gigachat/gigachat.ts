import type { Endpoint } from '../../catalog/catalog.ts'
import { bearer } from '../../base/http-request.ts'
import { inputUsage } from '../../kinds/answer/usage.ts'
import type { ParameterName } from '../../tables/parameter-table.ts'
import { TokenReader } from '../answers/token-reader.ts'
import { createOpenai, openaiChat, openaiBody } from '../openai/provider/openai.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { failure, type AttemptFailure, garbage } from '../ports/attempt-failure.ts'
import {
  isFailure,
  textsOf,
  vectorList,
  type EmbeddingsPage,
  type EmbeddingsProtocol,
  askEmbeddings,
} from '../upstream/embeddings.ts'
import { whenSendable } from '../upstream/ask.ts'
import { askChat } from '../upstream/events.ts'
import { askTranscript, textOnly, withCountry } from '../upstream/transcripts.ts'
import type { LiftedJson } from '../wire/lifted-json.ts'
import { listOf, objectOf, parseJson, textOf } from '../wire/raw-json.ts'
import type { ImageResult } from '../../kinds/images/request.ts'
import { pictureOf, decodeBase64, readDataUrl } from '../../kinds/images/bytes.ts'
import { IMAGE_BYTES_MAX, picturesOfWords } from '../answers/images-over-chat.ts'
import { openaiUsage } from '../openai/provider/usage.ts'
import {
  type ImageCall,
  type UnitCall,
  type AnswerSink,
  type ChatCall,
  type RunningCall,
  UnsendableError,
  type UpstreamRequest,
  pathPart,
} from '../ports/call.ts'
import { askJson, StepFailedError, type StepContext, failureOf } from '../upstream/steps.ts'
import type { SpeechFormat } from '../../kinds/speech.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import { pcmInWav, type SpeechCall, type TranscriptionResult, askSpeech } from '../upstream/audio.ts'
import type { ChatMessage, ChatPart } from '../../kinds/chat/request.ts'
import { formBody, formBoundary } from '../wire/form-body.ts'

const ANSWER_BYTES_MAX = 65_536
const REMOVE_MS = 30_000

/** The pictures of a conversation, which the service accepts only as files that were uploaded before. */
function picturesIn(messages: readonly ChatMessage[]): readonly string[] {
  return messages.flatMap(({ content }) =>
    Array.isArray(content)
      ? content.flatMap((part: ChatPart) => {
          if (part.type === 'image_url') return [part.image_url.url]
          if (part.type === 'text' || part.type === 'refusal') return []
          throw new UnsendableError(`messages: this provider takes texts and pictures, got ${part.type}`)
        })
      : [],
  )
}

/** Uploads the pictures, asks, and deletes them when the answer has ended. `call` has the endpoint in its dialect. */
function chatWithPictures(
  ports: AdapterPorts,
  call: ChatCall,
  pictures: readonly string[],
  sink: AnswerSink,
): RunningCall {
  const stop = new AbortController()
  let running: RunningCall | null = null
  const stored: string[] = []
  const remove = (): void => {
    for (const id of stored.splice(0)) void removed(ports, call, id)
  }
  const ending: AnswerSink = {
    headers: () => sink.headers(),
    push: (events) => sink.push(events),
    end: () => {
      remove()
      sink.end()
    },
    fail: (found) => {
      remove()
      sink.fail(found)
    },
  }
  const run = async (): Promise<void> => {
    // The sink is called only after the caller has got the call.
    await Promise.resolve()
    try {
      for (const url of pictures) stored.push(await storedPicture(ports, call, url, stop.signal))
      if (stop.signal.aborted) return remove()
      const body = withFiles(openaiBody(call), [...stored])
      const sent = { path: '/chat/completions', body, headers: bearer(call.apiKey) }
      running = askChat({ ...openaiChat, request: () => sent }, ports.transport)(call, ending)
    } catch (thrown) {
      if (stop.signal.aborted) remove()
      else ending.fail(failureOf(thrown))
    }
  }
  // `run` never rejects: its failures go to the sink, or nobody waits for them any more.
  void run()
  return {
    cancel: () => {
      stop.abort()
      running?.cancel()
      if (running !== null) remove()
    },
    resume: () => running?.resume(),
  }
}

async function storedPicture(
  { transport }: AdapterPorts,
  call: ChatCall,
  url: string,
  signal: AbortSignal,
): Promise<string> {
  const data = readDataUrl(url)
  const bytes = data === null ? null : decodeBase64(data.base64)
  if (data === null || bytes === null)
    throw new UnsendableError('messages: this provider fetches no addresses. Send the picture as a data URL in base64')
  const file = { fileName: 'picture', contentType: data.mediaType ?? 'image/jpeg', bytes }
  const form = formBody([['purpose', 'general']], file, formBoundary(call.generationId))
  const { json } = await askJson({ signal, headers: () => undefined }, transport, call, {
    request: () => ({
      path: '/files',
      body: form.body,
      headers: { ...bearer(call.apiKey), 'content-type': form.contentType },
    }),
  })
  const id = textOf(objectOf(json)?.['id'])
  if (id === null) throw new StepFailedError(failure('garbage', null, 'the answer names no file'))
  return id
}

/** The files replace the pictures, in their order. */
function withFiles(body: Record<string, unknown>, files: string[]): Record<string, unknown> {
  const messages = listOf(body['messages']).map((raw) => {
    const message = objectOf(raw) ?? {}
    if (!Array.isArray(message['content'])) return message
    const parts = listOf(message['content']).map(objectOf)
    const pictures = parts.filter((part) => part?.['type'] === 'image_url')
    return {
      ...message,
      content: parts.flatMap((part) => textOf(part?.['text']) ?? []).join('\n'),
      ...(pictures.length === 0 ? {} : { attachments: files.splice(0, pictures.length) }),
    }
  })
  return { ...body, messages }
}

/** A file that cannot be deleted stays at the service as long as the service stores files. */
async function removed({ jobs }: AdapterPorts, { endpoint, apiKey }: ChatCall, id: string): Promise<void> {
  const wish = {
    provider: endpoint.provider,
    path: `/files/${pathPart(id)}/delete`,
    // The body is empty, and so is no JSON.
    headers: { ...bearer(apiKey), 'content-type': 'application/x-www-form-urlencoded' },
    signal: AbortSignal.timeout(REMOVE_MS),
  }
  await jobs.post(wish, Buffer.alloc(0), { bytesMax: ANSWER_BYTES_MAX })
}

/** Longer texts are only for the service's jobs. */
const CHARACTERS_MAX = 4_000
/** The service's names of our formats. Its voices name their rate, and only those of 24 kHz match our formats. */
const FORMATS: ReadonlyMap<SpeechFormat, string> = new Map([
  ['opus', 'opus'],
  ['wav', 'wav16'],
  ['pcm', 'pcm16'],
])
const RATE = /_24000$/
/** The service's types of sound, by ours. */
const SOUNDS: ReadonlyMap<string, string> = new Map([
  ['mp3', 'audio/mpeg'],
  ['ogg', 'audio/ogg;codecs=opus'],
  ['opus', 'audio/ogg;codecs=opus'],
  ['flac', 'audio/flac'],
])

/** SaluteSpeech: makes sound from a text. */
function synthesis({ request, format, voice, apiKey }: SpeechCall): UpstreamRequest {
  if (request.characters > CHARACTERS_MAX)
    throw new UnsendableError(`input: this provider takes at most ${CHARACTERS_MAX} characters`)
  const named = voice === null || RATE.test(voice) ? voice : `${voice}_24000`
  const query = new URLSearchParams({ format: FORMATS.get(format) ?? '', ...(named === null ? {} : { voice: named }) })
  return {
    path: `/text:synthesize?${query}`,
    body: Buffer.from(request.input),
    headers: { ...bearer(apiKey), 'content-type': 'application/text' },
  }
}

/** SaluteSpeech: makes a text from a sound of up to a minute. */
function recognition({ apiKey, request: { audio, language } }: UnitCall<TranscriptionRequest>): UpstreamRequest {
  const pcm = audio.format === 'wav' ? pcmInWav(audio.bytes) : null
  const type = pcm === null ? SOUNDS.get(audio.format) : `audio/x-pcm;bit=16;rate=${pcm.rate}`
  if (type === undefined)
    throw new UnsendableError('file: this provider takes MP3, FLAC, Ogg with Opus, or WAV of 16 bits and one channel')
  const query = language === null ? '' : `?${new URLSearchParams({ language: withCountry(language) })}`
  return {
    path: `/speech:recognize${query}`,
    body: pcm?.bytes ?? audio.bytes,
    headers: { ...bearer(apiKey), 'content-type': type },
  }
}

/** Reads a list of stretches of speech, which become the lines of the text. The answer does not state a length. */
function readAnswer(bytes: Buffer): TranscriptionResult | AttemptFailure {
  const body = objectOf(parseJson(bytes))
  if (body === null || !Array.isArray(body['result'])) return garbage('no transcript', bytes)
  const text = listOf(body['result'])
    .map((part) => textOf(part) ?? '')
    .filter((part) => part !== '')
    .join(' ')
  return textOnly(text)
}

/** How the model names the file of its picture. */
const PICTURE = /<img\s+src="([\w-]{1,64})"/

/** The model calls its own function for a picture, whose file is then fetched. */
function gigachatImages(ports: AdapterPorts): NonNullable<Adapter['images']> {
  return picturesOfWords((call, context) => askOnce(ports, call, context))
}

async function askOnce({ transport, jobs }: AdapterPorts, call: ImageCall, context: StepContext): Promise<ImageResult> {
  const { endpoint, apiKey, request } = call
  const { provider } = endpoint
  const { json } = await askJson(context, transport, call, {
    request: () => ({
      path: '/chat/completions',
      body: {
        model: endpoint.upstreamModel,
        messages: [{ role: 'user', content: request.prompt }],
        function_call: 'auto',
      },
      headers: bearer(apiKey),
    }),
  })
  const body = objectOf(json)
  const message = objectOf(objectOf(listOf(body?.['choices'])[0])?.['message'])
  const file = PICTURE.exec(textOf(message?.['content']) ?? '')?.[1]
  const report = openaiUsage(body?.['usage'])
  const usage = report === null ? null : { report, imageTokens: 0 }
  // The words are billed although no picture was made.
  if (file === undefined) return { images: [], usage, upstreamId: null, calls: 1 }
  const answer = await jobs.get(
    { provider, path: `/files/${file}/content`, headers: { accept: '*/*', ...bearer(apiKey) }, signal: context.signal },
    { bytesMax: IMAGE_BYTES_MAX },
  )
  if (answer.status === 'failed') throw new StepFailedError(answer.failure)
  if (answer.code !== 200) throw new StepFailedError(answer.refusal())
  if (answer.body.length === 0) throw new StepFailedError(failure('garbage', null, 'the file of the picture is empty'))
  return { images: [{ picture: pictureOf(answer.body, null), revisedPrompt: null }], usage, upstreamId: file, calls: 1 }
}

/** Other parameters are answered with a 422, or have another meaning. */
const PARAMETERS: readonly ParameterName[] = [
  'max_tokens',
  'temperature',
  'top_p',
  'repetition_penalty',
  'tools',
  'tool_choice',
]

/**
 * Sber's GigaChat: OpenAI's chat with functions in the older form, vectors, and pictures made by a function of the
 * model; at the address of SaluteSpeech, speech in both directions. Tokens of its cache are neither billed nor among
 * `prompt_tokens`, so they are not read.
 */
export function createGigachat(ports: AdapterPorts): Adapter {
  const { transport } = ports
  const { chat, leaves, models } = createOpenai(ports)
  return {
    name: 'gigachat',
    parameters: {
      ...NO_PARAMETERS,
      chat: PARAMETERS,
      tts: ['voice', 'response_format'],
      transcription: ['language', 'response_format'],
    },
    ...(models === undefined ? {} : { models }),
    ...(leaves === undefined ? {} : { leaves: (endpoint, request) => leaves(inItsDialect(endpoint), request) }),
    ...(chat === undefined
      ? {}
      : {
          chat: (call, sink) =>
            whenSendable(() => {
              const own = { ...call, endpoint: inItsDialect(call.endpoint) }
              const pictures = picturesIn(call.request.messages)
              return pictures.length === 0 ? chat(own, sink) : chatWithPictures(ports, own, pictures, sink)
            }, sink),
        }),
    embeddings: askEmbeddings(gigachatEmbeddings, transport),
    images: gigachatImages(ports),
    speech: askSpeech(transport, {
      formats: () => [...FORMATS.keys()],
      request: synthesis,
      reads: () => ({ idHeader: 'x-request-id' }),
    }),
    transcription: askTranscript(transport, { request: recognition, reads: { answer: readAnswer } }),
  }
}

/** The endpoint in the form in which OpenAI's adapter must see it. */
function inItsDialect(endpoint: Endpoint): Endpoint {
  const dialect = { ...endpoint.dialect, tools: 'functions', system: 'first', streamUsage: false } as const
  return { ...endpoint, dialect, supportedParameters: endpoint.supportedParameters ?? PARAMETERS }
}

/** Each vector has its own count of tokens. */
const gigachatEmbeddings: EmbeddingsProtocol = {
  batchMax: () => 100,
  request: ({ endpoint, apiKey }, input) => ({
    path: '/embeddings',
    body: { model: endpoint.upstreamModel, input: textsOf(input) },
    headers: bearer(apiKey),
  }),
  page: readPage,
}

function readPage(answer: LiftedJson): EmbeddingsPage | AttemptFailure {
  const data = objectOf(answer.json)?.['data']
  if (!Array.isArray(data)) return failure('garbage', null, 'the answer holds no embeddings')
  const items = listOf(data)
    .map((raw, position) => ({ index: position, ...objectOf(raw) }))
    .toSorted((left, right) => Number(left.index) - Number(right.index))
  const vectors = vectorList(
    answer,
    items.map((item) => objectOf(item)?.['embedding']),
  )
  if (isFailure(vectors)) return vectors
  const reader = new TokenReader()
  let tokens: number | null = 0
  for (const item of items) {
    const own = reader.maybe(objectOf(objectOf(item)?.['usage']), 'prompt_tokens')
    tokens = own === null || tokens === null ? null : tokens + own
  }
  return { vectors, usage: inputUsage({ tokens, implausible: reader.implausible }), upstreamId: null }
}
