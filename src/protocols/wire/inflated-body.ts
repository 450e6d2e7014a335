import { constants, createBrotliDecompress, createGunzip, createInflate, type Gunzip } from 'node:zlib'

const INFLATED_BYTES_MAX = 32 * 1_048_576
/** A body that is cut is decompressed as far as it came: its reader knows whether that is all. */
const AS_FAR = { finishFlush: constants.Z_SYNC_FLUSH }
const BROTLI_AS_FAR = { finishFlush: constants.BROTLI_OPERATION_FLUSH }

const MADE: ReadonlyMap<string, () => Pick<Gunzip, 'on' | 'write' | 'end' | 'pause' | 'resume' | 'destroy'>> = new Map([
  ['gzip', () => createGunzip(AS_FAR)],
  ['deflate', () => createInflate(AS_FAR)],
  ['br', () => createBrotliDecompress(BROTLI_AS_FAR)],
])

/** Nothing follows `end` or `fail`. */
interface InflatedEvents {
  /** false = pause until `resume`. */
  data(bytes: Buffer): boolean
  /** More bytes may be pushed after `push` returned false. */
  drained(): void
  end(): void
  fail(detail: string): void
}

export interface InflatedBody {
  /** false = wait for `drained`. */
  push(bytes: Buffer): boolean
  end(): void
  resume(): void
  /** Ends the decompression; no event follows. */
  destroy(): void
}

/**
 * Decompresses, up to a limit, a body that the upstream compressed although we asked for identity (guarantees.md F28).
 * null for an unknown encoding.
 */
export function inflatedBody(encoding: string, events: InflatedEvents): InflatedBody | null {
  const inflate = MADE.get(encoding)?.()
  if (inflate === undefined) return null
  let bytes = 0
  let isOver = false
  const finish = (tell: () => void): void => {
    if (isOver) return
    isOver = true
    tell()
  }
  inflate.on('data', (chunk: Buffer) => {
    if (isOver) return
    bytes += chunk.length
    if (bytes > INFLATED_BYTES_MAX) {
      inflate.destroy()
      finish(() => events.fail('the inflated answer is larger than 32 MiB'))
    } else if (!events.data(chunk)) inflate.pause()
  })
  inflate.on('drain', () => {
    if (!isOver) events.drained()
  })
  inflate.on('end', () => finish(() => events.end()))
  inflate.on('error', (error) => finish(() => events.fail(error.message)))
  return {
    push: (piece) => inflate.write(piece),
    end: () => inflate.end(),
    resume: () => inflate.resume(),
    destroy: () => {
      isOver = true
      inflate.destroy()
    },
  }
}
