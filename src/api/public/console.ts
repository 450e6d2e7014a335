import type { IncomingMessage } from 'node:http'
import type { Reply } from '../../http/edge.ts'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownValue } from '../../base/own-value.ts'
import { BUILDING_REPLY } from './start-page.ts'

const INDEX = '/index.html'
/** Prefixes of APIs: an unknown path below them comes from a program, so it gets an error for programs. */
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

/** How often it is looked whether the console is built. */
const BUILDING_MS = 200

/**
 * The console's pages and files. A browser gets the console for unknown paths too: the console's router knows its
 * pages.
 */
export class ConsoleSite {
  readonly #directory: string
  #files: ReadonlyMap<string, ConsoleFile> | null
  #building: NodeJS.Timeout | null = null

  /** A console that is still being built is read again when it is. */
  constructor(directory: string, isBuilding: () => boolean = () => false) {
    this.#directory = directory
    this.#files = readConsoleFiles(directory)
    if (isBuilding()) this.#building = setInterval(() => this.#look(isBuilding), BUILDING_MS).unref()
  }

  /** The page for a path of the console; null = it is not built. */
  page(request: IncomingMessage): Reply | null {
    return this.#reply(INDEX, request) ?? (this.#building === null ? null : BUILDING_REPLY)
  }

  /** The answer to a GET of a path without a route; null = the console has none. */
  unmatched(request: IncomingMessage, path: string): Reply | null {
    if (request.method !== 'GET' && request.method !== 'HEAD') return null
    const file = this.#reply(path, request)
    if (file !== null) return file
    const isApi = API_PREFIXES.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))
    return !isApi && (request.headers.accept ?? '').includes('text/html') ? this.page(request) : null
  }

  #look(isBuilding: () => boolean): void {
    if (isBuilding()) return
    clearInterval(this.#building ?? undefined)
    this.#building = null
    this.#files = readConsoleFiles(this.#directory)
  }

  #reply(path: string, request: IncomingMessage): Reply | null {
    const file = this.#files?.get(path)
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

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
}
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

/** A file of the built console. */
export interface ConsoleFile {
  readonly contentType: string
  readonly body: Buffer
  /** The file compressed at build time, by content coding. */
  readonly encoded: ReadonlyMap<string, Buffer>
  /** Its name contains a hash of its content, so it may be cached for ever. */
  readonly immutable: boolean
  readonly etag: string
}

/** The built console by URL path, read once for a build: serving it never touches the disk. null = there is no build. */
function readConsoleFiles(directory: string): ReadonlyMap<string, ConsoleFile> | null {
  if (!existsSync(join(directory, 'index.html'))) return null
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'))
  const files = new Map<string, ConsoleFile>()
  for (const name of names) {
    const contentType = ownValue(TYPES, name.slice(name.lastIndexOf('.') + 1))
    if (contentType === undefined) continue
    const body = readFileSync(join(directory, name))
    const encoded = new Map(
      ENCODINGS.filter(([, suffix]) => names.includes(name + suffix)).map(([coding, suffix]) => [
        coding,
        readFileSync(join(directory, name + suffix)),
      ]),
    )
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    files.set(`/${name}`, { contentType, body, encoded, immutable: name.startsWith('assets/'), etag })
  }
  return files
}
