import type { VideoContent } from '../providers/ports/video-upstream.ts'

/** No honest video of a minute is larger. */
const BYTES_MAX = 2 * 1_024 * 1_048_576
const DEFAULT_TYPE = 'video/mp4'
const HEAD_BYTES = 12

/** The provider sent no bytes. */
export class EmptyVideoError extends Error {
  override readonly name = 'EmptyVideoError'
}

/**
 * The video with the media type of its first bytes. Throws for other files, and during the read for one that is too
 * large.
 */
export async function videoBytes(
  content: VideoContent,
): Promise<{ readonly mediaType: string; readonly bytes: AsyncIterable<Buffer> }> {
  const source = content.bytes[Symbol.asyncIterator]()
  const head: Buffer[] = []
  let length = 0
  while (length < HEAD_BYTES) {
    const { done, value } = await source.next()
    if (done === true) break
    head.push(value)
    length += value.length
  }
  const start = Buffer.concat(head)
  if (start.length === 0) throw new EmptyVideoError('The video is empty.')
  const mediaType = typeOf(start) ?? (content.mediaType?.startsWith('video/') === true ? content.mediaType : null)
  if (
    mediaType === null &&
    content.mediaType !== null &&
    !/^(application\/octet-stream|binary\/octet-stream)$/.test(content.mediaType)
  ) {
    await source.return?.()
    throw new Error(`it is no video but ${content.mediaType}`)
  }
  return { mediaType: mediaType ?? DEFAULT_TYPE, bytes: bounded(start, { [Symbol.asyncIterator]: () => source }) }
}

function typeOf(start: Buffer): string | null {
  if (start.toString('latin1', 4, 8) === 'ftyp')
    return start.toString('latin1', 8, 12) === 'qt  ' ? 'video/quicktime' : 'video/mp4'
  return start.readUIntBE(0, Math.min(4, start.length)) === 0x1a45dfa3 ? 'video/webm' : null
}

async function* bounded(start: Buffer, rest: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let bytes = start.length
  yield start
  for await (const chunk of rest) {
    bytes += chunk.length
    if (bytes > BYTES_MAX) throw new Error(`it is larger than ${BYTES_MAX} bytes`)
    yield chunk
  }
}
