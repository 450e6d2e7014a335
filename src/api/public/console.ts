import type { IncomingMessage } from 'node:http'
import type { Principal } from '../../access/principal.ts'
import type { Reply, Route } from '../../http/edge.ts'
import type { ConsoleFile } from './console-files.ts'

const INDEX = '/index.html'
/** An unknown path below these comes from a program, so it gets an error for programs. */
const API_PREFIXES = ['/v1', '/v1beta', '/v1alpha', '/v2', '/api', '/cabinet', '/admin', '/assets'] as const
const HEADERS = Object.freeze({
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(self), payment=()',
  vary: 'accept-encoding',
})

/**
 * The console's pages and files. A browser gets the console for unknown paths too: the console's router knows its
 * pages.
 */
export class ConsoleSite {
  readonly #files: ReadonlyMap<string, ConsoleFile>

  constructor(files: ReadonlyMap<string, ConsoleFile>) {
    this.#files = files
  }

  /** Pages that share their path with a route of another method. */
  routes(): readonly Route<Principal>[] {
    return ['/', '/setup'].map((path) => ({
      method: 'GET',
      path,
      plane: 'open',
      body: 'none',
      handle: ({ request }) => this.#reply(INDEX, request) ?? { status: 404, body: '', contentType: 'text/plain' },
    }))
  }

  /** The answer to a GET of a path without a route; null = the console has none. */
  unmatched(request: IncomingMessage, path: string): Reply | null {
    if (request.method !== 'GET' && request.method !== 'HEAD') return null
    const file = this.#reply(path, request)
    if (file !== null) return file
    const isApi = API_PREFIXES.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
    return !isApi && (request.headers.accept ?? '').includes('text/html') ? this.#reply(INDEX, request) : null
  }

  #reply(path: string, request: IncomingMessage): Reply | null {
    const file = this.#files.get(path)
    if (file === undefined) return null
    const headers = {
      ...HEADERS,
      etag: file.etag,
      'cache-control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    }
    if (request.headers['if-none-match'] === file.etag) return { status: 304, body: undefined, headers }
    const accepted = acceptedCodings(request.headers['accept-encoding'])
    for (const [coding, body] of file.encoded)
      if (accepted.has(coding))
        return { status: 200, body, contentType: file.contentType, headers: { ...headers, 'content-encoding': coding } }
    return { status: 200, body: file.body, contentType: file.contentType, headers }
  }
}

function acceptedCodings(header: string | string[] | undefined): ReadonlySet<string> {
  const parts = String(header ?? '')
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((word) => word.trim()))
  return new Set(
    parts.filter(([, quality]) => quality === undefined || !/^q=0(?:\.0*)?$/.test(quality)).map(([name = '']) => name),
  )
}
