import { createHash, timingSafeEqual } from 'node:crypto'
import type { Principal } from '../access/principal.ts'
import { ApiError, unavailable } from '../errors.ts'
import { HIJACKED, type Call, type Route } from '../http/edge.ts'
import type { Picture } from '../kinds/image-bytes.ts'
import type { Clock } from '../lib/clock.ts'
import { timedId, type IdSource } from '../lib/ids.ts'
import type { FileStore, StoredFile } from '../store/file-store.ts'

const PATH = '/v1/images/content'
const RETRY_SECONDS = 2
/** wire.md D-2.3a. */
const KEPT_MS = 24 * 3_600_000
/** A client that takes nothing for so long is gone. */
const STALL_MS = 60_000
/** 62^22 is more than 2^128. */
const TOKEN_LETTERS = 22

export interface StoredPicturePorts {
  readonly files: FileStore
  readonly clock: Clock
  readonly ids: IdSource
}

/** Pictures kept for the clients that asked for their addresses, each opened by the token in its own. */
export class StoredPictures {
  readonly #ports: StoredPicturePorts

  constructor(ports: StoredPicturePorts) {
    this.#ports = ports
  }

  /** Durable when it resolves to the path, id and token of the picture; throws an ApiError where it cannot be kept. */
  async keep(accountId: string, { bytes, mediaType }: Picture): Promise<string> {
    const { files, clock, ids } = this.#ports
    const id = timedId('img', clock.now(), ids)
    const token = ids.letters(TOKEN_LETTERS)
    try {
      await files.put(
        { id, accountId, mediaType, tokenDigest: digestOf(token), expiresAtMs: clock.now() + KEPT_MS },
        oneChunk(bytes),
      )
    } catch (cause) {
      // A full disk, or a database that is away: the provider is not to blame, and the client pays nothing.
      throw unavailable(
        `Service is overloaded or its store is not available. Retry after ${RETRY_SECONDS} seconds`,
        RETRY_SECONDS,
        'file_store',
        cause,
      )
    }
    return `${PATH}?id=${id}&token=${token}`
  }

  routes(): readonly Route<Principal>[] {
    return [{ method: 'GET', path: PATH, plane: 'token', body: 'none', handle: (call) => this.#serve(call) }]
  }

  async #serve(call: Call<Principal>): Promise<typeof HIJACKED> {
    const { query, request, response, baseHeaders, log } = call
    const file = await this.#opened(query.get('id') ?? '', query.get('token') ?? '')
    response.writeHead(200, { ...baseHeaders, ...headersOf(file) })
    if (request.method === 'HEAD') response.end()
    else await this.#send(file, response)
    log.finish(200)
    return HIJACKED
  }

  /** Whether the id, the token or the time was wrong is nobody's business. */
  async #opened(id: string, token: string): Promise<StoredFile> {
    const file = await this.#ports.files.find(id)
    if (
      file === null ||
      file.tokenDigest === null ||
      !timingSafeEqual(file.tokenDigest, digestOf(token)) ||
      file.expiresAtMs <= this.#ports.clock.now()
    ) {
      throw new ApiError('file_not_found', `File '${id.slice(0, 100)}' not found or expired`)
    }
    return file
  }

  /** A picture that is lost on the way, or a client that leaves, breaks the connection: half a file must not look whole. */
  async #send(file: StoredFile, response: Call<Principal>['response']): Promise<void> {
    try {
      for await (const chunk of this.#ports.files.read(file.id, { start: 0, end: file.bytes - 1 })) {
        if (response.destroyed) return
        if (!response.write(chunk)) await drained(response, this.#ports.clock)
      }
      response.end()
    } catch {
      response.destroy()
    }
  }
}

function headersOf({ bytes, mediaType }: StoredFile): Record<string, string> {
  return {
    'content-type': mediaType,
    'content-length': String(bytes),
    'cache-control': 'private, max-age=86400',
    'x-content-type-options': 'nosniff',
    // A picture in SVG is a document that may hold scripts, and this is the console's own origin.
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'cross-origin-resource-policy': 'cross-origin',
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

async function* oneChunk(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes
}

/** Resolves also when the client has left, or stands still for too long and is cut off. */
function drained(response: Call<Principal>['response'], clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.after(STALL_MS, () => response.destroy())
    const done = (): void => {
      stop()
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}
