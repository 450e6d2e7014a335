import type { IncomingMessage } from 'node:http'
import { ApiError, overloaded } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { invalidJson, JsonScan } from './json-scan.ts'

const BODY_BYTES_MAX = 10_485_760
/** Body bytes held by one node; what does not fit is refused before it is read (reliability.md 5). */
const BODY_BUDGET_BYTES = 256 * 1_048_576
const SWEEP_MS = 1_000

/** What a request's head says of its body. */
export interface BodyHead {
  readonly type: 'json' | 'multipart'
  /** null = chunked. */
  readonly declaredBytes: number | null
}

/** The client went away before its body was whole: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** 415 before 413, both before a byte of the body is read (wire.md 7.3, D-7.4). */
export function checkBodyHead(request: IncomingMessage, allowed: 'json' | 'json-or-multipart'): BodyHead {
  const { headers } = request
  const type = mediaType(headers['content-type'])
  const encoding = headers['content-encoding']
  if (type === null || (type === 'multipart' && allowed === 'json')) throw unsupported(allowed)
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity') {
    throw new ApiError('unsupported_media_type', 'Unsupported Content-Encoding. Only identity is allowed')
  }
  const length = headers['content-length']
  const declaredBytes = length === undefined ? (headers['transfer-encoding'] === undefined ? 0 : null) : Number(length)
  if (declaredBytes !== null && declaredBytes > BODY_BYTES_MAX) throw tooLarge()
  return { type, declaredBytes }
}

function mediaType(header: string | undefined): 'json' | 'multipart' | null {
  if (header === undefined) return null
  if (header === 'application/json') return 'json'
  const [type = '', ...parameters] = header.toLowerCase().split(';')
  if (type.trim() === 'multipart/form-data') return 'multipart'
  if (type.trim() !== 'application/json') return null
  return parameters.every((parameter) => /^(?:charset=(?:utf-8|"utf-8"))?$/.test(parameter.trim())) ? 'json' : null
}

function unsupported(allowed: 'json' | 'json-or-multipart'): ApiError {
  const types = allowed === 'json' ? 'Only application/json is allowed' : 'Only application/json and multipart/form-data are allowed'
  return new ApiError('unsupported_media_type', `Unsupported Content-Type. ${types}`)
}

function tooLarge(): ApiError {
  return new ApiError('request_too_large', 'Payload Too Large: request body exceeds 10 MB')
}

/** Bytes of request bodies that the node may hold at once. */
export class BodyBudget {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number = BODY_BUDGET_BYTES) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false
    this.#bytes += bytes
    return true
  }

  give(bytes: number): void {
    this.#bytes -= bytes
  }
}

interface Deadline {
  readonly atMs: number
  expire(): void
}

/** One timer for all bodies under way instead of one a request. */
export class BodyDeadlines {
  readonly #clock: Clock
  readonly #open = new Set<Deadline>()
  #ticking = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(deadline: Deadline): void {
    this.#open.add(deadline)
    if (!this.#ticking) this.#tick()
  }

  delete(deadline: Deadline): void {
    this.#open.delete(deadline)
  }

  #tick(): void {
    this.#ticking = true
    this.#clock.after(SWEEP_MS, () => {
      const nowMs = this.#clock.monotonic()
      for (const deadline of this.#open) if (deadline.atMs <= nowMs) deadline.expire()
      if (this.#open.size > 0) this.#tick()
      else this.#ticking = false
    })
  }
}

export interface BodyPorts {
  readonly budget: BodyBudget
  readonly deadlines: BodyDeadlines
  /** Uniform in [0, 1). */
  readonly random: () => number
}

/** Reads a body whole. The caller gives its length back to the budget when the bytes are no longer needed. */
export function readBody(request: IncomingMessage, head: BodyHead, deadlineMs: number, ports: BodyPorts): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const reading = new BodyReading(head, ports)
    const deadline: Deadline = { atMs: deadlineMs, expire: () => stop(new ApiError('request_timeout', 'Request was not received in time')) }
    const onData = (chunk: Buffer): void => {
      const refusal = reading.push(chunk)
      if (refusal !== null) stop(refusal)
    }
    const onEnd = (): void => {
      detach()
      resolve(reading.whole())
    }
    const onGone = (): void => stop(new ClientGone('The client closed the connection inside its body.'))
    const stop = (reason: Error): void => {
      detach()
      reading.release()
      reject(reason)
    }
    const detach = (): void => {
      ports.deadlines.delete(deadline)
      request.off('data', onData).off('end', onEnd).off('close', onGone)
    }
    const refusal = reading.start()
    if (refusal !== null) return reject(refusal)
    ports.deadlines.add(deadline)
    request.on('data', onData).on('end', onEnd).on('close', onGone)
  })
}

class BodyReading {
  readonly #chunks: Buffer[] = []
  readonly #scan: JsonScan | null
  readonly #declaredBytes: number | null
  readonly #budget: BodyBudget
  readonly #random: () => number
  #bytes = 0
  #takenBytes = 0

  constructor(head: BodyHead, ports: BodyPorts) {
    this.#scan = head.type === 'json' ? new JsonScan() : null
    this.#declaredBytes = head.declaredBytes
    this.#budget = ports.budget
    this.#random = ports.random
  }

  start(): ApiError | null {
    return this.#declaredBytes === null ? null : this.#take(this.#declaredBytes)
  }

  push(chunk: Buffer): ApiError | null {
    this.#bytes += chunk.length
    if (this.#bytes > BODY_BYTES_MAX) return tooLarge()
    const refusal = this.#bytes > this.#takenBytes ? this.#take(this.#bytes - this.#takenBytes) : null
    if (refusal !== null) return refusal
    const excess = this.#scan?.push(chunk) ?? null
    if (excess !== null) return invalidJson(excess)
    this.#chunks.push(chunk)
    return null
  }

  whole(): Buffer {
    const [first] = this.#chunks
    return first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks, this.#bytes)
  }

  release(): void {
    this.#budget.give(this.#takenBytes)
    this.#takenBytes = 0
    this.#chunks.length = 0
  }

  #take(bytes: number): ApiError | null {
    if (!this.#budget.take(bytes)) return overloaded(this.#random())
    this.#takenBytes += bytes
    return null
  }
}
