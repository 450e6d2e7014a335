import { createHash, timingSafeEqual } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import { ApiError, unavailable } from '../../base/errors.ts'
import { HIJACKED, type Call, type Route } from '../../http/edge.ts'
import { sendBytes } from '../../http/reply.ts'
import type { Picture } from '../../kinds/images/bytes.ts'
import type { Clock } from '../../base/clock.ts'
import { timedId, type IdSource } from '../../base/ids.ts'
import type { FileStore, StoredFile } from '../../store/files/file-store.ts'
import { HOUR_MS } from '../../base/time.ts'

const PATH = '/v1/images/content'
const RETRY_SECONDS = 2
/** How long a picture is stored (wire.md D-2.3a). */
const KEPT_MS = 24 * HOUR_MS
/** 62^22 is more than 2^128, so a token cannot be guessed. */
const TOKEN_LETTERS = 22

export interface StoredPicturePorts {
  readonly files: FileStore
  readonly clock: Clock
  readonly ids: IdSource
}

/** Pictures stored for clients that asked for addresses. An address contains the token that opens its picture. */
export class StoredPictures {
  readonly #ports: StoredPicturePorts

  constructor(ports: StoredPicturePorts) {
    this.#ports = ports
  }

  /** Resolves to the path, id and token when the picture is durable; throws an ApiError if it cannot be stored. */
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
      // The disk is full or the database is away: the provider is not to blame, and the client pays nothing.
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
    else
      await sendBytes(response, this.#ports.files.read(file.id, { start: 0, end: file.bytes - 1 })).catch(() =>
        response.destroy(),
      )
    log.finish(200)
    return HIJACKED
  }

  /** The answer does not reveal whether the id, the token or the time was wrong. */
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
}

function headersOf({ bytes, mediaType }: StoredFile): Record<string, string> {
  return {
    'content-type': mediaType,
    'content-length': String(bytes),
    'cache-control': 'private, max-age=86400',
    'x-content-type-options': 'nosniff',
    // An SVG picture can contain scripts, and it is served from the console's own origin.
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
