import type { GeneratedImage, ImageResult } from '../../kinds/images/answer.ts'
import { decodeBase64, pictureOf, readDataUrl, type Picture } from '../../kinds/images/bytes.ts'
import type { SourceImage } from '../../kinds/images/request.ts'
import { sumUsage } from '../../kinds/answer/usage.ts'
import type { ImageCall } from '../../protocols/ports/call.ts'
import type { StepContext } from '../../protocols/upstream/steps.ts'
import { decodedInTurns } from '../../protocols/wire/base64-text.ts'
import { FileFetchError, type FileFetch } from '../../protocols/wire/file-fetch.ts'
import { UnsendableError } from '../../protocols/ports/upstream-request.ts'
import type { LiftedJson } from '../../protocols/wire/lifted-json.ts'
import { listOf } from '../../protocols/wire/raw-json.ts'

/** Limit of pictures in JSON and of files that an answer names (guarantees.md F30). */
export const IMAGE_BYTES_MAX = 64 * 1_048_576
const ANSWER_FILE_MS = 60_000
/** Limit of a picture that a client names (guarantees.md requirement 13). */
const SOURCE_BYTES_MAX = 20 * 1_048_576
const SOURCE_MS = 10_000

/**
 * Makes `count` pictures in parallel by as few calls as the provider's limit allows. Delivers the pictures of the calls
 * that succeed; fails only when all fail.
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
    // Extra pictures are dropped.
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

/** A string of an answer, or the inside of its JSON: pictures are not parsed with the rest. */
export type SpelledText = string | Buffer

export function spelledText(value: unknown, { vectors }: LiftedJson): SpelledText | null {
  if (typeof value === 'string') return value
  const [place] = listOf(value)
  const lifted = typeof place === 'number' ? vectors[place] : undefined
  return lifted?.form === 'base64' ? lifted.bytes.subarray(1, -1) : null
}

/** A picture in the form in which an answer carries it. */
export interface SpelledImage {
  /** null when there is a `url`. */
  readonly base64: SpelledText | null
  /** An http address, or a data URL. */
  readonly url: SpelledText | null
  readonly mediaType: string | null
  readonly revisedPrompt: string | null
}

/** The pictures that can be read; the others are left out, and nobody pays for them. */
export async function readImages(
  spelled: readonly SpelledImage[],
  call: ImageCall,
  files: FileFetch,
  { signal }: StepContext,
): Promise<readonly GeneratedImage[]> {
  const held: (Picture | null)[] = []
  // One after another: all of them would be decoded in one turn.
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

/** null for what is no data URL. */
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
 * The bytes of a source image, for a provider that accepts only bytes. Throws an UnsendableError when they cannot be
 * had.
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
    return pictureOf(bytes, null)
  } catch (thrown) {
    // One message for every cause: a client must not use us to probe addresses.
    if (thrown instanceof FileFetchError)
      throw new UnsendableError(`${source.path}: the image could not be fetched. Send it as a data URL in base64`)
    throw thrown
  }
}
