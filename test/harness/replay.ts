import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { recordedCases, type Exchange, type RecordedCase, randomOf } from './recording.ts'
import { endsLater } from './lasting.ts'

/**
 * How to send a recorded answer: cut into other pieces, spelled in another way, or broken. Without options it is sent
 * event by event as recorded.
 */
export interface ReplayOptions {
  /**
   * Where the bytes are cut into writes: `bytes:7` = after every seven, `random` = into pieces of at most `max` (64) by
   * `seed`.
   */
  readonly split?: 'event' | 'whole' | 'line' | 'random' | `bytes:${number}`
  readonly seed?: number
  readonly max?: number
  /**
   * Other spellings of the same server-sent events: line ends, no space after the colon, comments in between, JSON over
   * many lines, a byte order mark, no blank line at the end.
   */
  readonly crlf?: 1
  readonly cr?: 1
  readonly nospace?: 1
  readonly comments?: 1
  readonly multiline?: 1
  readonly bom?: 1
  readonly tail?: 'none'
  readonly gzip?: 1
  /** No Content-Length for a body that is not streamed. */
  readonly chunked?: 1
  /** Another status with the same body. */
  readonly status?: number
  readonly 'retry-after'?: number
  /** An empty body, or an HTML page, instead of the body. */
  readonly body?: 'empty' | 'html'
  /** The answer ends after this many events: the connection is reset, or with `fin` closed as if complete. */
  readonly cut?: `events:${number}`
  readonly cutmode?: 'reset' | 'fin'
  /** After this many events nothing more is sent, and the connection stays open. */
  readonly stall?: `events:${number}`
  /** The request is received but never answered. */
  readonly hang?: 1
}

const PAGE = '<!doctype html>\n<html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>\n'
const EVENT_END = /(?:\r\n){2}|\n\n|\r\r/g
const LINE_END = /\r\n|\n|\r/

/** The body as it is sent. */
export function bodyToSend({ body, framing }: Exchange, options: ReplayOptions): Buffer {
  if (options.body !== undefined) return Buffer.from(options.body === 'html' ? PAGE : '')
  return framing === 'sse' ? respelled(body, options) : body
}

/** The same events spelled in another way; unchanged without such an option. */
function respelled(body: Buffer, { crlf, cr, nospace, comments, multiline, bom, tail }: ReplayOptions): Buffer {
  if ([crlf, cr, nospace, comments, multiline, bom, tail].every((option) => option === undefined)) return body
  const text = body.toString('utf8')
  const lineEnd = crlf === 1 ? '\r\n' : cr === 1 ? '\r' : (LINE_END.exec(text)?.[0] ?? '\n')
  const events = text
    .split(EVENT_END)
    .filter((event) => event !== '')
    .map((event) => {
      const lines = event.split(LINE_END).flatMap((line) => (multiline === 1 ? manyLines(line) : [line]))
      return [
        ...(comments === 1 ? [': still there'] : []),
        ...(nospace === 1 ? lines.map((line) => line.replace(/^(data|event): /, '$1:')) : lines),
      ].join(lineEnd)
    })
  const end = lineEnd + lineEnd
  return Buffer.from(`${bom === 1 ? '\ufeff' : ''}${events.join(end)}${tail === 'none' ? '' : end}`)
}

/** A line of JSON as several lines with the same meaning. */
function manyLines(line: string): readonly string[] {
  const json = /^data: ?([{[].*)$/.exec(line)?.[1]
  if (json === undefined) return [line]
  try {
    return JSON.stringify(JSON.parse(json), null, 1)
      .split('\n')
      .map((part) => `data: ${part}`)
  } catch {
    // Some recorded events are not JSON.
    return [line]
  }
}

/** The end of each event, in bytes. */
export function eventEnds(body: Buffer, framing: string): readonly number[] {
  const ends: number[] = []
  if (framing === 'eventstream') for (let at = 0; at < body.length;) ends.push((at += body.readUInt32BE(at)))
  // In Latin-1 one character is one byte, so positions are positions of bytes.
  const separator = framing === 'sse' ? EVENT_END : framing === 'ndjson' ? /\n/g : null
  if (separator !== null)
    for (const { index, 0: found } of body.toString('latin1').matchAll(separator)) ends.push(index + found.length)
  return ends.at(-1) === body.length ? ends : [...ends, body.length]
}

/** The number of bytes after which an answer is cut off or stalls. */
function bytesOfEvents(spec: `events:${number}`, ends: readonly number[]): number {
  return ends[Number(spec.slice('events:'.length)) - 1] ?? Infinity
}

/** The writes that send a body. */
export function piecesOf(
  body: Buffer,
  ends: readonly number[],
  { split = 'event', seed = 1, max = 64 }: ReplayOptions,
): readonly Buffer[] {
  const cuts =
    split === 'whole'
      ? [body.length]
      : split === 'event'
        ? ends
        : split === 'line'
          ? lineEnds(body)
          : sizes(body.length, split, seed, max)
  return cuts.map((end, index) => body.subarray(cuts[index - 1] ?? 0, end)).filter(({ length }) => length > 0)
}

function lineEnds(body: Buffer): readonly number[] {
  const ends: number[] = []
  for (let at = body.indexOf(10); at !== -1; at = body.indexOf(10, at + 1)) ends.push(at + 1)
  return [...ends, body.length]
}

function sizes(length: number, split: 'random' | `bytes:${number}`, seed: number, max: number): readonly number[] {
  const random = randomOf(seed)
  const ends: number[] = []
  for (let at = 0; at < length;) {
    at = Math.min(
      length,
      at + (split === 'random' ? 1 + Math.floor(random() * max) : Number(split.slice('bytes:'.length))),
    )
    ends.push(at)
  }
  return ends
}

/** `/slot/<name>/…`, or `/case[;run=<run>]/<provider>/<kind>/<case>/…`; the rest is the path at the provider. */
const ADDRESS = /^\/(?:slot\/([^/]+)|case(?:;run=([^/;]+))?\/([^/]+\/[^/]+\/[^/]+))(\/.*)?$/
/** The prefix for files of recorded jobs, which are on other hosts that this server imitates. */
const OTHER_HOST = '/__host/'
const STREAMED = ['sse', 'ndjson', 'eventstream']

export interface SeenRequest {
  readonly case: string
  readonly method: string
  /** What follows the case in the path, with the query. */
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
  /** null if the body is not JSON. */
  readonly json: unknown
}

export interface Replay {
  readonly url: string
  readonly cases: readonly RecordedCase[]
  /** Sets the answers of `<url>/slot/<name>`, which are used in turn; the last one repeats. */
  slot(name: string, queue: readonly { readonly case: string; readonly opts?: ReplayOptions }[]): Promise<void>
  requests(): Promise<readonly SeenRequest[]>
  close(): Promise<void>
}

interface Programmed {
  readonly recorded: RecordedCase
  readonly options: ReplayOptions
}

/** A server that replays the recorded traffic of providers to a server under test. */
export async function startReplayUpstream(): Promise<Replay> {
  const upstream = new ReplayUpstream()
  const server = createServer((request, response) => void upstream.handle(request, response))
  server.requestTimeout = 0
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // It listens on a port.
  upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
  }
  endsLater(close)
  return {
    url: upstream.url,
    cases: [...upstream.cases.values()],
    slot: async (name, queue) => upstream.program(name, queue),
    requests: async () => upstream.seen,
    close,
  }
}

class ReplayUpstream {
  readonly cases: ReadonlyMap<string, RecordedCase> = new Map(
    recordedCases().map((recorded) => [recorded.name, recorded]),
  )
  readonly seen: SeenRequest[] = []
  url = ''
  readonly #slots = new Map<string, Programmed[]>()
  /** The number of completed steps of a job, by its address. */
  readonly #positions = new Map<string, number>()

  program(name: string, queue: readonly { readonly case: string; readonly opts?: ReplayOptions }[]): void {
    this.#slots.set(
      name,
      queue.map(({ case: caseName, opts: options = {} }) => ({ recorded: this.#case(caseName), options })),
    )
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      // The client has disconnected.
      return
    }
    const found = ADDRESS.exec(request.url ?? '')
    const [, slot, run, caseName, path = '/'] = found ?? []
    const programmed = slot === undefined ? this.#named(caseName) : this.#next(slot)
    // No provider answers with this status, so a wrong path cannot be mistaken for a provider's refusal.
    if (programmed === null) return void response.writeHead(598).end()
    const { recorded, options } = programmed
    this.seen.push(seenOf(recorded.name, path, request, Buffer.concat(chunks).toString('utf8')))
    if (options.hang === 1) return
    const exchange =
      recorded.steps.length === 0 ? recorded : this.#step(recorded, `${slot} ${run}`, request.method ?? '', path)
    if (exchange === null) return void response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
    const prefix = (request.url ?? '').slice(0, (request.url ?? '').length - path.length)
    await send(response, withHosts(exchange, recorded, `${this.url}${prefix}${OTHER_HOST}`), options)
  }

  #case(name: string): RecordedCase {
    const found = this.cases.get(name)
    if (found === undefined) throw new Error(`no recorded case ${name}`)
    return found
  }

  #named(name: string | undefined): Programmed | null {
    const recorded = name === undefined ? undefined : this.cases.get(name)
    return recorded === undefined ? null : { recorded, options: {} }
  }

  #next(slot: string): Programmed | null {
    const queue = this.#slots.get(slot) ?? []
    return (queue.length > 1 ? queue.shift() : queue[0]) ?? null
  }

  /** The next step that matches the request, or else an earlier one, or else the next one with its method. */
  #step({ name, steps }: RecordedCase, run: string, method: string, path: string): Exchange | null {
    const key = `${name} ${run}`
    const position = this.#positions.get(key) ?? 0
    const [bare] = path.split('?')
    const isAsked = ({ request }: Exchange): boolean =>
      request?.method === method && (bare === request.path || bare === `${OTHER_HOST}${request.host}${request.path}`)
    const ahead = steps.findIndex((step, index) => index >= position && isAsked(step))
    const behind = steps.findLastIndex((step, index) => index < position && isAsked(step))
    const index =
      ahead >= 0
        ? ahead
        : behind >= 0
          ? behind
          : steps.findIndex(({ request }, at) => at >= position && request?.method === method)
    if (index >= position) this.#positions.set(key, index + 1)
    return steps[index] ?? null
  }
}

function seenOf(name: string, path: string, { method = '', headers }: IncomingMessage, body: string): SeenRequest {
  return {
    case: name,
    method,
    path,
    headers: Object.fromEntries(Object.entries(headers).map(([header, value]) => [header, String(value)])),
    body,
    json: parsed(body),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Changes the addresses in a job's answers to addresses of this server. */
function withHosts(exchange: Exchange, { steps }: RecordedCase, base: string): Exchange {
  if (exchange.framing !== 'json') return exchange
  const hosts = new Set(steps.flatMap(({ request }) => (request === null ? [] : [request.host])))
  if (hosts.size === 0) return exchange
  const text = [...hosts].reduce(
    (body, host) => body.replaceAll(`https://${host}/`, `${base}${host}/`),
    exchange.body.toString('utf8'),
  )
  return { ...exchange, body: Buffer.from(text) }
}

async function send(response: ServerResponse, exchange: Exchange, options: ReplayOptions): Promise<void> {
  const body = bodyToSend(exchange, options)
  const headers: Record<string, string> = { ...exchange.headers }
  if (options.body === 'html') headers['content-type'] = 'text/html'
  if (options['retry-after'] !== undefined) headers['retry-after'] = String(options['retry-after'])
  const status = options.status ?? exchange.status
  if (options.gzip === 1)
    return void response.writeHead(status, { ...headers, 'content-encoding': 'gzip' }).end(gzipSync(body))
  const isStreamed = STREAMED.includes(exchange.framing) && options.body === undefined
  const isPlain = !isStreamed && options.split === undefined && options.chunked === undefined
  if (isPlain) return void response.writeHead(status, { ...headers, 'content-length': String(body.length) }).end(body)
  response.writeHead(status, headers)
  await sendPieces(response, body, exchange.framing, options)
}

async function sendPieces(
  response: ServerResponse,
  body: Buffer,
  framing: string,
  options: ReplayOptions,
): Promise<void> {
  const ends = eventEnds(body, framing)
  const cut = options.cut === undefined ? Infinity : bytesOfEvents(options.cut, ends)
  const stall = options.stall === undefined ? Infinity : bytesOfEvents(options.stall, ends)
  const last = Math.min(cut, stall, body.length)
  response.socket?.setNoDelay(true)
  for (const piece of piecesOf(
    body.subarray(0, last),
    ends.filter((end) => end <= last),
    options,
  )) {
    if (response.destroyed) return
    if (!response.write(piece)) await drained(response)
  }
  if (last === stall) return
  if (last === cut && options.cutmode !== 'fin') {
    // Written bytes are sent before the connection is reset.
    response.write('', () => response.socket?.destroy())
    return
  }
  response.end()
}

async function drained(response: ServerResponse): Promise<void> {
  const stop = new AbortController()
  await Promise.race([
    once(response, 'drain', { signal: stop.signal }),
    once(response, 'close', { signal: stop.signal }),
  ])
  stop.abort()
}
