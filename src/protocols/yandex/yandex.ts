import type { Endpoint } from '../../catalog/catalog.ts'
import type { ParameterName } from '../../tables/parameter-table.ts'
import { openaiEmbeddings } from '../openai/provider/embeddings.ts'
import { createOpenai } from '../openai/provider/openai.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { askEmbeddings } from '../upstream/embeddings.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../upstream/models.ts'
import { textOf, objectOf, parseJson, type RawJson } from '../wire/raw-json.ts'
import type { ImageResult, ImageRequest } from '../../kinds/images/request.ts'
import { decodeBase64, pictureOf } from '../../kinds/images/bytes.ts'
import { IMAGE_BYTES_MAX, picturesOfWords } from '../answers/images-over-chat.ts'
import { failure, garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import { type ImageCall, type UnitCall, pathPart, UnsendableError, type UpstreamRequest } from '../ports/call.ts'
import { askJson, StepFailedError, type StepContext } from '../upstream/steps.ts'
import { jobFailure } from '../wire/upstream-error.ts'
import type { SpeechFormat } from '../../kinds/speech.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import { pcmInWav, type SpeechCall, type TranscriptionResult, askSpeech } from '../upstream/audio.ts'
import { textOnly, withCountry, askTranscript } from '../upstream/transcripts.ts'
import type { ReadsError } from '../upstream/response.ts'

const CHARACTERS_MAX = 5_000
const SOUND_BYTES_MAX = 1_048_576
/** SpeechKit's names of our formats. Its samples have other rates than our `pcm`. */
const FORMATS: ReadonlyMap<SpeechFormat, string> = new Map([
  ['mp3', 'mp3'],
  ['opus', 'oggopus'],
])
const RATES: ReadonlySet<number> = new Set([8_000, 16_000, 48_000])
const OPUS: ReadonlySet<string> = new Set(['ogg', 'oga', 'opus'])

/** SpeechKit's version 1: makes sound from a text. */
function synthesis({ request: { input, characters, speed }, format, voice, apiKey }: SpeechCall): UpstreamRequest {
  if (characters > CHARACTERS_MAX)
    throw new UnsendableError(`input: this provider takes at most ${CHARACTERS_MAX} characters`)
  const form = new URLSearchParams({
    text: input,
    format: FORMATS.get(format) ?? '',
    ...(voice === null ? {} : { voice }),
    ...(speed === null ? {} : { speed: String(speed) }),
  })
  return {
    path: '/speech/v1/tts:synthesize',
    body: Buffer.from(form.toString()),
    headers: { ...yandexCredentials(apiKey), 'content-type': 'application/x-www-form-urlencoded' },
  }
}

/** SpeechKit's version 1: makes a text from a sound of up to 30 seconds. */
function recognition({ apiKey, request: { audio, language } }: UnitCall<TranscriptionRequest>): UpstreamRequest {
  const pcm = audio.format === 'wav' ? pcmInWav(audio.bytes) : null
  if (!OPUS.has(audio.format) && (pcm === null || !RATES.has(pcm.rate)))
    throw new UnsendableError(
      'file: this provider takes Ogg with Opus, or WAV of 16 bits, one channel and 8, 16 or 48 kHz',
    )
  const body = pcm?.bytes ?? audio.bytes
  if (body.length > SOUND_BYTES_MAX) throw new UnsendableError('file: this provider takes at most 1 MiB of sound')
  const query = new URLSearchParams({
    ...(language === null ? { lang: 'auto' } : { lang: withCountry(language) }),
    ...(pcm === null ? { format: 'oggopus' } : { format: 'lpcm', sampleRateHertz: String(pcm.rate) }),
  })
  return {
    path: `/speech/v1/stt:recognize?${query}`,
    body,
    headers: { ...yandexCredentials(apiKey), 'content-type': 'application/octet-stream' },
  }
}

function readAnswer(bytes: Buffer): TranscriptionResult | AttemptFailure {
  const text = textOf(objectOf(parseJson(bytes))?.['result'])
  if (text === null) return garbage('no transcript', bytes)
  return textOnly(text)
}

/** Reads `{error_code, error_message}`. */
const speechkitError: ReadsError = (_status, body, read) => {
  const { error_code: code, error_message: message } = objectOf(body) ?? {}
  return read(message === undefined ? body : { error: { code, message } })
}

const LOOK_MS = 1_000
/** The longest wait for a picture, which usually takes about ten seconds. */
const SECONDS_MAX = 300

/** YandexART: an operation is started, and polled until it has the picture. */
function yandexImages(ports: AdapterPorts): NonNullable<Adapter['images']> {
  return picturesOfWords((call, context) => askOnce(ports, call, context))
}

async function askOnce(ports: AdapterPorts, call: ImageCall, context: StepContext): Promise<ImageResult> {
  const { endpoint, apiKey, request } = call
  const endsAtMs = ports.clock.monotonic() + Math.min(SECONDS_MAX, endpoint.provider.timeouts.total) * 1_000
  const { json } = await askJson(context, ports.transport, call, {
    request: () => ({
      path: '/foundationModels/v1/imageGenerationAsync',
      body: {
        modelUri: endpoint.upstreamModel,
        messages: [{ text: request.prompt, weight: '1' }],
        generationOptions: optionsOf(request),
      },
      headers: yandexCredentials(apiKey),
    }),
  })
  const id = textOf(objectOf(json)?.['id'])
  if (id === null) throw new StepFailedError(failure('garbage', null, 'the answer names no operation'))
  const { response, error } = await doneOperation(ports, call, id, context, endsAtMs)
  if (error !== undefined && error !== null) throw new StepFailedError(jobFailure(error))
  const bytes = decodeBase64(textOf(objectOf(response)?.['image']) ?? '')
  if (bytes === null || bytes.length === 0)
    throw new StepFailedError(failure('garbage', null, 'the operation holds no picture'))
  return { images: [{ picture: pictureOf(bytes, null), revisedPrompt: null }], usage: null, upstreamId: id, calls: 1 }
}

/** The options; a size is sent as the ratio of its sides. */
function optionsOf({ size, aspectRatio, parameters }: ImageRequest): RawJson {
  const [width, height] = (aspectRatio ?? size ?? '').split(/[:x]/)
  const { seed } = parameters
  return {
    ...(seed === undefined ? {} : { seed: String(seed) }),
    ...(width === undefined || height === undefined ? {} : { aspectRatio: { widthRatio: width, heightRatio: height } }),
  }
}

async function doneOperation(
  { jobs, clock }: AdapterPorts,
  { endpoint: { provider }, apiKey }: ImageCall,
  id: string,
  { signal }: StepContext,
  endsAtMs: number,
): Promise<RawJson> {
  const wish = {
    provider,
    path: `/operations/${pathPart(id)}`,
    headers: yandexCredentials(apiKey),
    signal,
  }
  while (clock.monotonic() < endsAtMs) {
    const answer = await jobs.get(wish, { bytesMax: IMAGE_BYTES_MAX })
    if (answer.status === 'failed') throw new StepFailedError(answer.failure)
    const body = objectOf(parseJson(answer.body))
    if (answer.code !== 200) throw new StepFailedError(answer.refusal())
    if (body === null) throw new StepFailedError(garbage('not JSON', answer.body))
    if (body['done'] === true) return body
    await new Promise<void>((resolve) => void clock.after(LOOK_MS, resolve))
  }
  throw new StepFailedError(failure('timeout', null, 'the operation is not done in time'))
}

/** Precedes the paths of OpenAI's protocol. */
const OPENAI_PATH = '/v1'
const PARAMETERS: readonly ParameterName[] = [
  'max_tokens',
  'temperature',
  'top_p',
  'stop',
  'tools',
  'tool_choice',
  'response_format',
  'structured_outputs',
  'reasoning_effort',
]

const MODELS: ModelListProtocol = {
  request: (_provider, apiKey) => ({ path: `${OPENAI_PATH}/models`, headers: yandexCredentials(apiKey) }),
  entries: entriesIn('data'),
  model: (entry) => listedModel(entry, textOf(entry['id'])),
}

/**
 * Yandex AI Studio: chat and vectors in OpenAI's protocol, pictures of YandexART; at the addresses of SpeechKit, speech
 * in both directions. The base address is the bare host; a model is named by its URI, `gpt://FOLDER/yandexgpt`.
 */
export function createYandex(ports: AdapterPorts): Adapter {
  const { transport, jobs } = ports
  const { chat } = createOpenai(ports)
  // A request has only one text here.
  const embed = askEmbeddings({ ...openaiEmbeddings, batchMax: () => 1 }, transport)
  return {
    name: 'yandex',
    parameters: {
      ...NO_PARAMETERS,
      chat: PARAMETERS,
      image: ['size', 'aspect_ratio', 'seed'],
      tts: ['voice', 'response_format', 'speed'],
      transcription: ['language', 'response_format'],
    },
    models: askModels(MODELS, jobs),
    ...(chat === undefined ? {} : { chat: (call, sink) => chat(inOpenai(call), sink) }),
    embeddings: (call, sink) => embed(inOpenai(call), sink),
    images: yandexImages(ports),
    speech: askSpeech(transport, {
      formats: () => [...FORMATS.keys()],
      request: synthesis,
      reads: () => ({ idHeader: 'x-request-id', error: speechkitError }),
    }),
    transcription: askTranscript(transport, {
      request: recognition,
      reads: { answer: readAnswer, error: speechkitError },
    }),
  }
}

/**
 * The call in the form in which OpenAI's adapter must see it. Yandex's keys have a scheme of their own; tokens are
 * bearers.
 */
function inOpenai<Call extends { readonly endpoint: Endpoint; readonly apiKey: string | null }>(call: Call): Call {
  const { endpoint, apiKey } = call
  const { provider, supportedParameters } = endpoint
  const dialect = { ...provider.dialect, authHeader: apiKey === null ? null : 'authorization' }
  return {
    ...call,
    apiKey: apiKey === null ? null : `Api-Key ${apiKey}`,
    endpoint: {
      ...endpoint,
      provider: { ...provider, baseUrl: provider.baseUrl + OPENAI_PATH, dialect },
      supportedParameters: supportedParameters ?? PARAMETERS,
    },
  }
}

/** The header of a key of Yandex Cloud; none without a key, since tokens are sent as bearers. */
function yandexCredentials(apiKey: string | null): Readonly<Record<string, string>> {
  return apiKey === null ? {} : { authorization: `Api-Key ${apiKey}` }
}
