import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { finishReasonOf } from '../../kinds/answer/end.ts'
import {
  type ImageResult,
  wantedRatio,
  type ImageRequest,
  type SourceImage,
  type GeneratedImage,
} from '../../kinds/images/request.ts'
import { type MediaUrl, mediumOf, typeOfBytes } from '../../kinds/fields/media.ts'
import type { Adapter } from '../ports/adapter.ts'
import { type ImageCall, UnsendableError } from '../ports/call.ts'
import { StepFailedError, inSteps, type StepContext } from '../upstream/steps.ts'
import { type FileFetch, FileFetchError } from '../wire/file-fetch.ts'
import { listOf, objectOf, textOf } from '../wire/raw-json.ts'
import { failure } from '../ports/attempt-failure.ts'
import { decodeBase64, pictureOf, readDataUrl, type Picture } from '../../kinds/images/bytes.ts'
import { sumUsage } from '../../kinds/answer/usage.ts'
import { decodedInTurns } from '../wire/base64-text.ts'
import type { LiftedJson } from '../wire/lifted-json.ts'

/** The most bytes of pictures in JSON and of files that an answer names (guarantees.md F30). */
export const IMAGE_BYTES_MAX = 64 * 1_048_576
const ANSWER_FILE_MS = 60_000
/** The most bytes of a picture that a client names (guarantees.md requirement 13). */
const SOURCE_BYTES_MAX = 20 * 1_048_576
const SOURCE_MS = 10_000

/**
 * Makes `count` pictures in parallel, by as few calls as the provider's limit allows. Delivers the pictures of the
 * calls that succeed, and fails only if all calls fail.
 */
export async function inShares(
  count: number,
  most: number,
  ask: (count: number) => Promise<ImageResult>,
): Promise<ImageResult> {
  const shares = Array.from({ length: Math.ceil(count / most) }, (_value, index) =>
    Math.min(most, count - index * most),
  )
  const settled = await Promise.allSettled(shares.map(ask))
  const results = settled.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const [first] = results
  if (first === undefined) {
    const [failed] = settled
    throw failed?.status === 'rejected' ? failed.reason : new Error('No call was made.')
  }
  const usages = results.flatMap(({ usage }) => (usage === null ? [] : [usage]))
  return {
    // Pictures beyond the requested number are dropped.
    images: results.flatMap(({ images }, index) => images.slice(0, shares[index])).slice(0, count),
    usage:
      usages.length < results.length
        ? null
        : {
            report: sumUsage(usages.map(({ report }) => report)),
            imageTokens: usages.reduce((sum, { imageTokens }) => sum + imageTokens, 0),
          },
    upstreamId: first.upstreamId,
    calls: results.length,
  }
}

/** Pictures from words only, for a provider that makes one with each call. */
export function picturesOfWords(
  askOnce: (call: ImageCall, context: StepContext) => Promise<ImageResult>,
): NonNullable<Adapter['images']> {
  return (call, sink) =>
    inSteps(async (context) => {
      if (call.request.sources.length > 0)
        throw new UnsendableError('image: this provider makes pictures of words alone')
      return inShares(call.request.count, 1, () => askOnce(call, context))
    }, sink)
}

/** A string of an answer, or the text between its quotes in JSON: pictures are not parsed with the rest. */
type SpelledText = string | Buffer

export function spelledText(value: unknown, { vectors }: LiftedJson): SpelledText | null {
  if (typeof value === 'string') return value
  const [place] = listOf(value)
  const lifted = typeof place === 'number' ? vectors[place] : undefined
  return lifted?.form === 'base64' ? lifted.bytes.subarray(1, -1) : null
}

/** A picture in the form in which an answer carries it. */
export interface SpelledImage {
  /** null = it has a `url`. */
  readonly base64: SpelledText | null
  /** An http address, or a data URL. */
  readonly url: SpelledText | null
  readonly mediaType: string | null
  readonly revisedPrompt: string | null
}

/** The pictures that can be read; the others are left out and not charged. */
export async function readImages(
  spelled: readonly SpelledImage[],
  call: ImageCall,
  files: FileFetch,
  { signal }: StepContext,
): Promise<readonly GeneratedImage[]> {
  const held: (Picture | null)[] = []
  // They are decoded one after another, instead of all in one turn of the event loop.
  for (const { base64, url, mediaType } of spelled)
    held.push(base64 === null ? await pictureInUrl(url) : await pictureIn(base64, mediaType))
  const read = await Promise.all(
    spelled.map(async ({ base64, url, mediaType, revisedPrompt }, index) => {
      const picture = held[index] ?? (base64 === null ? await pictureAt(url, mediaType, call, files, signal) : null)
      return picture === null ? null : { picture, revisedPrompt }
    }),
  )
  return read.filter((image) => image !== null)
}

async function pictureIn(base64: SpelledText, mediaType: string | null): Promise<Picture | null> {
  const bytes = typeof base64 === 'string' ? decodeBase64(base64) : await decodedInTurns(base64)
  return bytes === null ? null : pictureOf(bytes, mediaType)
}

/** null = the text is no data URL. */
async function pictureInUrl(url: SpelledText | null): Promise<Picture | null> {
  if (url === null) return null
  if (typeof url === 'string') {
    const data = readDataUrl(url)
    return data === null ? null : pictureIn(data.base64, data.mediaType)
  }
  const from = url.indexOf(',') + 1
  const head = readDataUrl(url.toString('latin1', 0, from))
  return head === null ? null : pictureIn(url.subarray(from), head.mediaType)
}

async function pictureAt(
  url: SpelledText | null,
  mediaType: string | null,
  { endpoint }: ImageCall,
  files: FileFetch,
  signal: AbortSignal,
): Promise<Picture | null> {
  if (typeof url !== 'string' || readDataUrl(url) !== null) return null
  try {
    const bytes = await files.get(url, {
      ownHost: new URL(endpoint.provider.baseUrl).host,
      publicOnly: endpoint.provider.publicOnly === true,
      bytesMax: IMAGE_BYTES_MAX,
      timeoutMs: ANSWER_FILE_MS,
      signal,
    })
    return bytes.length === 0 ? null : pictureOf(bytes, mediaType)
  } catch (thrown) {
    if (thrown instanceof FileFetchError) return null
    throw thrown
  }
}

/**
 * The bytes of a source image, for a provider that accepts only bytes. Throws an UnsendableError if they cannot be
 * fetched.
 */
export async function sourcePicture(
  source: SourceImage,
  { fetchesUrls }: ImageCall,
  files: FileFetch,
  { signal }: StepContext,
): Promise<Picture> {
  if (source.type === 'data') return pictureOf(decodeBase64(source.base64) ?? Buffer.alloc(0), source.mediaType)
  if (!fetchesUrls)
    throw new UnsendableError(
      `${source.path}: this provider fetches no addresses. Send the image as a data URL in base64`,
    )
  try {
    const bytes = await files.get(source.url, {
      ownHost: null,
      bytesMax: SOURCE_BYTES_MAX,
      timeoutMs: SOURCE_MS,
      signal,
    })
    if (mediumOf(typeOfBytes(bytes) ?? 'image/png') !== 'image') throw new FileFetchError('it is no image')
    return pictureOf(bytes, null)
  } catch (thrown) {
    // Every cause has the same message: a client must not be able to probe addresses through us.
    if (thrown instanceof FileFetchError)
      throw new UnsendableError(`${source.path}: the image could not be fetched. Send it as a data URL in base64`)
    throw thrown
  }
}

type Chat = NonNullable<Adapter['chat']>

/** Pictures from a model that puts them into chat answers: one picture for each answer, in `message.images`. */
export function imagesOverChat(chat: Chat, files: FileFetch): NonNullable<Adapter['images']> {
  return (call, sink) =>
    inSteps((context) => inShares(call.request.count, 1, () => askOnce(chat, files, call, context)), sink)
}

async function askOnce(chat: Chat, files: FileFetch, call: ImageCall, context: StepContext): Promise<ImageResult> {
  const { request } = call
  try {
    return await readAnswer(await ask(chat, call, request.sources, context), call, files, context)
  } catch (thrown) {
    const refused = thrown instanceof StepFailedError && thrown.failure.reason === 'unsendable'
    if (!refused || !call.fetchesUrls || request.sources.every(({ type }) => type === 'data')) throw thrown
    const sources = await Promise.all(
      request.sources.map(async (source) => ({ ...source, url: await dataUrlOf(source, call, files, context) })),
    )
    return readAnswer(await ask(chat, call, sources, context), call, files, context)
  }
}

async function dataUrlOf(
  source: SourceImage,
  call: ImageCall,
  files: FileFetch,
  context: StepContext,
): Promise<MediaUrl<'image'>> {
  const { bytes, mediaType } = await sourcePicture(source, call, files, context)
  return `data:${mediaType};base64,${bytes.toString('base64')}`
}

function ask(
  chat: Chat,
  { endpoint, apiKey, generationId, request }: ImageCall,
  sources: readonly SourceImage[],
  { signal, headers }: StepContext,
): Promise<readonly AnswerEvent[]> {
  return new Promise((resolve, reject) => {
    const events: AnswerEvent[] = []
    const running = chat(
      { endpoint, apiKey, request: chatRequest(request, sources), sendMaxTokens: null, generationId, splice: null },
      {
        headers,
        push: (batch) => {
          for (const event of batch) events.push(event)
          return true
        },
        end: () => resolve(events),
        fail: (found) =>
          reject(
            new StepFailedError({
              ...found,
              publicMessage: found.publicMessage === null ? null : inOurWords(found.publicMessage, sources),
            }),
          ),
      },
    )
    signal.addEventListener(
      'abort',
      () => {
        running.cancel()
        reject(new StepFailedError(failure('cancelled', null, 'cancelled')))
      },
      { once: true },
    )
  })
}

/** An error with the fields that the client knows, since the client sent no messages. */
function inOurWords(message: string, sources: readonly SourceImage[]): string {
  return message.replaceAll(
    /\bmessages\[0\]\.content\[(\d+)\](?:\.image_url(?:\.url)?)?/g,
    (path, index: string) => sources[Number(index) - 1]?.path ?? path,
  )
}

function chatRequest(request: ImageRequest, sources: readonly SourceImage[]): ChatRequest {
  const { prompt, imageSize, parameters } = request
  const aspectRatio = wantedRatio(request)
  const imageConfig = {
    ...(aspectRatio === null ? {} : { aspect_ratio: aspectRatio }),
    ...(imageSize === null ? {} : { image_size: imageSize }),
  }
  return {
    model: null,
    fallbackModels: [],
    provider: request.provider,
    sessionId: null,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: prompt },
          ...sources.map(({ url }) => ({ type: 'image_url' as const, image_url: { url } })),
        ],
      },
    ],
    stream: false,
    includeUsage: false,
    maxTokens: null,
    n: 1,
    tools: null,
    toolChoice: null,
    responseFormat: null,
    parameters: {
      modalities: ['image', 'text'],
      ...(Object.keys(imageConfig).length === 0 ? {} : { image_config: imageConfig }),
      ...(parameters['seed'] === undefined ? {} : { seed: parameters['seed'] }),
      ...(parameters['user'] === undefined ? {} : { user: parameters['user'] }),
    },
    hidesReasoning: true,
    inputModalities: new Set(sources.length === 0 ? [] : ['image']),
    textBytes: Buffer.byteLength(prompt),
  }
}

async function readAnswer(
  events: readonly AnswerEvent[],
  call: ImageCall,
  files: FileFetch,
  context: StepContext,
): Promise<ImageResult> {
  const spelled: SpelledImage[] = []
  let usage: ImageResult['usage'] = null
  let upstreamId: string | null = null
  let filtered = false
  for (const event of events) {
    if (event.type === 'extra' && event.field === 'images') spelled.push(...listOf(event.value).map(spelledOf))
    else if (event.type === 'usage') usage = { report: event.usage, imageTokens: 0 }
    else if (event.type === 'origin') upstreamId = event.upstreamId ?? upstreamId
    else if (event.type === 'finish')
      filtered ||= (event.finish ?? finishReasonOf(event.native, false)) === 'content_filter'
  }
  const images = await readImages(spelled, call, files, context)
  if (images.length === 0 && filtered)
    throw new StepFailedError(moderated("The provider's safety system refused to make this picture"))
  return { images, usage, upstreamId, calls: 1 }
}

/** The failure for a moderation refusal inside a successful answer. */
export function moderated(message: string): StepFailedError['failure'] {
  return { ...failure('error_event', 400, message), publicMessage: message, refusal: 'moderation' }
}

function spelledOf(raw: unknown): SpelledImage {
  const image = objectOf(raw)
  return {
    base64: textOf(image?.['b64_json']),
    url: textOf(objectOf(image?.['image_url'])?.['url']) ?? textOf(image?.['url']),
    mediaType: null,
    revisedPrompt: null,
  }
}
