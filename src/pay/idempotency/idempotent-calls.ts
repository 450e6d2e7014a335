import { createHash } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import { ApiError, asApiError, overloaded } from '../../base/errors.ts'
import type { Call, HIJACKED, Reply } from '../../http/edge.ts'
import { parseMultipart } from '../../http/multipart.ts'
import type { KeyWrap } from '../../ledger/key-wrap.ts'
import type { Clock } from '../../base/clock.ts'
import { timedId, type IdSource } from '../../base/ids.ts'
import type { CallClaim, AnswerBody } from '../relay/operation.ts'
import { answerPurpose, type ClaimOutcome, type IdempotencyStore } from '../../store/idempotency/idempotency-store.ts'
import { HOUR_MS } from '../../base/time.ts'

/** The most bytes of kept answers of one account; beyond it a request runs, but its answer is not kept. */
export const KEPT_BYTES_MAX = 200 * 1_048_576

/** An answer that this node has stored; `endedAt`: how many looks at the store had begun when it was written. */
interface RoomTaken {
  readonly bytes: number
  endedAt: number
}

interface Account {
  calls: number
  sum: number
  sumAt: number
  readonly kept: Set<RoomTaken>
}

/**
 * The room of an account for kept answers: the sum in the store, which each call reads as it begins, and the answers of
 * this node that were written after that sum was read.
 */
export class KeptRoom {
  readonly #accounts = new Map<string, Account>()
  #looks = 0

  /** Begins a call, which must be ended; `look` reads the sum in the store. */
  async begin(accountId: string, look: () => Promise<number>): Promise<KeptCall> {
    const account = this.#accounts.get(accountId) ?? { calls: 0, sum: 0, sumAt: 0, kept: new Set() }
    this.#accounts.set(accountId, account)
    account.calls += 1
    const call = new KeptCall(account, {
      looks: () => this.#looks,
      ended: () => {
        account.calls -= 1
        if (account.calls === 0) this.#accounts.delete(accountId)
      },
    })
    const at = (this.#looks += 1)
    try {
      const sum = await look()
      if (at > account.sumAt) {
        account.sum = sum
        account.sumAt = at
        for (const kept of account.kept) if (kept.endedAt < at) account.kept.delete(kept)
      }
      return call
    } catch (thrown) {
      call.end()
      throw thrown
    }
  }
}

/** One call of an account with an `Idempotency-Key`. */
class KeptCall {
  readonly #account: Account
  readonly #room: { readonly looks: () => number; readonly ended: () => void }
  #kept: RoomTaken | null = null
  #isEnded = false
  /** Whether its answer is kept; null = not decided yet. */
  isKept: boolean | null = null

  constructor(account: Account, room: { readonly looks: () => number; readonly ended: () => void }) {
    this.#account = account
    this.#room = room
  }

  /** Takes room for the answer, once; false = there is no room. `bytes`: null = the answer is too large to be kept. */
  take(bytes: number | null): boolean {
    const { sum, kept } = this.#account
    if (this.#kept !== null) return true
    const isRoomy = bytes !== null && [...kept].reduce((all, one) => all + one.bytes, sum) + bytes <= KEPT_BYTES_MAX
    this.isKept = isRoomy
    if (!isRoomy) return false
    // The answer of a request in the background comes after its call has ended.
    this.#kept = { bytes, endedAt: this.#isEnded ? this.#room.looks() : Infinity }
    kept.add(this.#kept)
    return true
  }

  /** Called when the answer is written, or will not be. */
  end(): void {
    this.#isEnded = true
    if (this.#kept !== null) this.#kept.endedAt = this.#room.looks()
    this.#room.ended()
  }
}

/** The largest answer that is kept (guarantees.md requirement 24). */
const ANSWER_BYTES_MAX = 1_048_576
const LINE_END = 0x0a

/** An answer as the client received it. */
interface KeptAnswer {
  readonly status: number
  /** null = JSON. */
  readonly contentType: string | null
  readonly bytes: Buffer
}

/** The bytes that the HTTP server sends for the answer; null = there are too many to keep. */
function keptAnswer(status: number, { body, contentType }: AnswerBody): KeptAnswer | null {
  const bytes = contentType === undefined ? Buffer.from(JSON.stringify(body)) : bytesOf(body)
  return bytes === null || bytes.length > ANSWER_BYTES_MAX ? null : { status, contentType: contentType ?? null, bytes }
}

function bytesOf(body: unknown): Buffer | null {
  if (typeof body === 'string') return Buffer.from(body)
  if (Buffer.isBuffer(body)) return body
  const parts = Array.isArray(body) ? body.filter((part) => Buffer.isBuffer(part)) : []
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return parts.length === 0 || length > ANSWER_BYTES_MAX ? null : Buffer.concat(parts, length)
}

/** Writes a line of JSON and then the bytes. */
function writeKeptAnswer({ status, contentType, bytes }: KeptAnswer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ status, contentType })}\n`), bytes])
}

function readKeptAnswer(written: Buffer): KeptAnswer {
  const end = written.indexOf(LINE_END)
  // Written by `writeKeptAnswer`, and encrypted since then.
  const head = JSON.parse(written.subarray(0, end).toString('utf8')) as Pick<KeptAnswer, 'status' | 'contentType'>
  return { ...head, bytes: written.subarray(end + 1) }
}

const HEADER = 'idempotency-key'
/** At most 255 characters that are safe in a header; spaces only inside. */
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/
const KEEP_MS = 24 * HOUR_MS
/** The header of an answer that will not be kept: a repetition of its request is refused with 409. */
export const NOT_KEPT = { 'idempotent-replayable': 'false' } as const
const JSON_TYPE = 'application/json; charset=utf-8'

export interface IdempotentCallPorts {
  readonly store: IdempotencyStore
  readonly keyWrap: KeyWrap
  readonly clock: Clock
  readonly ids: IdSource
}

type ClaimNames = Pick<CallClaim, 'id' | 'generationId'>
type Outcome = Reply | typeof HIJACKED

/**
 * `Idempotency-Key`: an API key's request with such a key is answered and charged once, on any node. The key is claimed
 * before the hold; the claim ends in the commit of the charge, and is released if nothing was charged. Claims belong to
 * one API key: another key may be limited to other models, so it must not get the answer.
 */
export class IdempotentCalls {
  readonly #ports: IdempotentCallPorts
  readonly #room = new KeptRoom()

  constructor(ports: IdempotentCallPorts) {
    this.#ports = ports
  }

  /** A call whose charge ends its claim. */
  once(call: Call<Principal>, run: (claim: CallClaim | null) => Promise<Outcome>): Promise<Outcome> {
    return call.request.headers[HEADER] === undefined ? run(null) : this.#once(call, 'gen', run, 'charge')
  }

  /**
   * A call that creates a job: its reply ends its claim. `again` answers if the job was created and the reply was lost.
   */
  job(
    call: Call<Principal>,
    run: (id: string | null) => Promise<Reply>,
    again: (id: string) => Promise<Reply>,
  ): Promise<Reply> {
    if (call.request.headers[HEADER] === undefined) return run(null)
    const create = async (claim: CallClaim): Promise<Reply> => run(claim.generationId)
    // A job is never a stream, so the result is a plain reply.
    return this.#once(call, 'gen-vid', create, 'reply', again) as Promise<Reply>
  }

  async #once(
    call: Call<Principal>,
    prefix: string,
    run: (claim: CallClaim) => Promise<Outcome>,
    ends: 'charge' | 'reply',
    again?: (id: string) => Promise<Reply>,
  ): Promise<Outcome> {
    const { store, clock } = this.#ports
    const look = (): Promise<number> => store.keptBytes(payerOf(call).accountId, clock.now())
    const names = this.#namesOf(call, prefix)
    const kept = await this.#room.begin(payerOf(call).accountId, look).catch((cause: unknown) => {
      throw overloaded(0, 'store', cause)
    })
    try {
      const outcome = await this.#claim(call, names)
      if (outcome.status !== 'claimed') return await this.#repeat(call, names.id, outcome, again)
      const claim = this.#claimOf(names, kept)
      const reply = await this.#run(claim, run, ends)
      return isReply(reply) && kept.isKept === false ? { ...reply, headers: { ...reply.headers, ...NOT_KEPT } } : reply
    } finally {
      kept.end()
    }
  }

  async #run(
    claim: CallClaim,
    run: (claim: CallClaim) => Promise<Outcome>,
    ends: 'charge' | 'reply',
  ): Promise<Outcome> {
    try {
      const reply = await run(claim)
      if (ends === 'reply' && isReply(reply)) await this.#end(claim, reply)
      else if (!isReply(reply)) await this.#release(claim)
      return reply
    } catch (thrown) {
      // The job may have been committed although no answer came: its claim stays until that is known.
      if (ends === 'charge' || asApiError(thrown).status < 500) await this.#release(claim)
      throw thrown
    }
  }

  #namesOf(call: Call<Principal>, prefix: string): ClaimNames {
    const key = call.request.headers[HEADER]
    if (typeof key !== 'string' || !KEY.test(key))
      throw new ApiError('invalid_input', 'Idempotency-Key: must have 1 to 255 printable ASCII characters')
    const { accountId, keyId } = payerOf(call)
    return { id: digest([accountId, keyId, key]), generationId: timedId(prefix, call.arrivedAtMs, this.#ports.ids) }
  }

  #claimOf({ id, generationId }: ClaimNames, room: KeptCall): CallClaim {
    return {
      id,
      generationId,
      encrypt: (answer, status = 200) => {
        const kept = keptAnswer(status, answer)
        const written = kept === null ? null : writeKeptAnswer(kept)
        if (!room.take(written?.length ?? null) || written === null) return null
        return this.#ports.keyWrap.encrypt(written, answerPurpose(id, generationId))
      },
    }
  }

  async #claim(call: Call<Principal>, { id, generationId }: ClaimNames): Promise<ClaimOutcome> {
    const atMs = this.#ports.clock.now()
    try {
      return await this.#ports.store.claim({
        id,
        accountId: payerOf(call).accountId,
        requestDigest: requestDigest(call),
        generationId,
        atMs,
        expiresAtMs: atMs + KEEP_MS,
      })
    } catch (cause) {
      if (cause instanceof ApiError) throw cause
      throw overloaded(0, 'store', cause)
    }
  }

  async #repeat(
    call: Call<Principal>,
    id: string,
    outcome: Exclude<ClaimOutcome, { status: 'claimed' }>,
    again: ((id: string) => Promise<Reply>) | undefined,
  ): Promise<Reply> {
    if (outcome.status === 'other_request')
      throw new ApiError('idempotency_mismatch', 'This Idempotency-Key was used with another body')
    if (!('generationId' in outcome)) throw new Error('A claim that is taken names its generation.')
    const { generationId } = outcome
    call.log.set({ generation_id: generationId, status_text: 'repeated' })
    const headers = { 'x-generation-id': generationId, 'idempotent-replayed': 'true' }
    if (outcome.status === 'running')
      throw conflict('A request with this Idempotency-Key is still running', generationId, { retryAfterSeconds: 1 })
    checkModel(payerOf(call), outcome.model)
    if (outcome.answer === null && again !== undefined) return again(generationId)
    const kept = outcome.answer === null ? null : this.#opened(outcome.answer, id, generationId)
    if (kept === null)
      throw conflict(
        'The request with this Idempotency-Key was answered, and its answer is not kept: it was a stream, too large, or one too many of its account',
        generationId,
        { noRetry: true },
      )
    return { status: kept.status, body: kept.bytes, contentType: kept.contentType ?? JSON_TYPE, headers }
  }

  /** null = the wrapping key has been removed. */
  #opened(answer: Buffer, id: string, generationId: string): ReturnType<typeof readKeptAnswer> | null {
    try {
      return readKeptAnswer(this.#ports.keyWrap.decrypt(answer, answerPurpose(id, generationId)))
    } catch {
      return null
    }
  }

  /** The job exists. If the stored reply is lost, a repeated request gets the job's current state. */
  async #end({ id, generationId, encrypt }: CallClaim, { status, body }: Reply): Promise<void> {
    await this.#ports.store.end(id, generationId, encrypt({ body }, status)).catch(() => undefined)
  }

  /** If the store does not answer now, the claim ends with its lease. */
  async #release({ id, generationId }: CallClaim): Promise<void> {
    await this.#ports.store.release(id, generationId).catch(() => undefined)
  }
}

function isReply(outcome: Outcome): outcome is Reply {
  return typeof outcome !== 'symbol'
}

/** The principal who pays for a call. */
export function payerOf({ principal }: Call<Principal>): Principal {
  if (principal === null) throw new Error('A paid route has a principal.')
  return principal
}

/**
 * Checks the API key again, since its allowed models may have changed since the first answer. An answer without a known
 * model is only for keys that may use every model.
 */
function checkModel({ allowedModels }: Principal, model: string | null): void {
  if (allowedModels === null || (model !== null && allowedModels.has(model))) return
  throw new ApiError(
    'access_denied',
    model === null ? 'This key has no access to the model that answered' : `This key has no access to model '${model}'`,
  )
}

function conflict(
  message: string,
  generationId: string,
  details: { readonly retryAfterSeconds?: number; readonly noRetry?: boolean },
): ApiError {
  return new ApiError('idempotency_conflict', message, {
    ...details,
    metadata: { generation_id: generationId },
    headers: { 'x-generation-id': generationId },
  })
}

/**
 * The digest of the path and the body. A form is compared by its content, since clients choose another boundary for
 * each try.
 */
function requestDigest({ request, json, rawBody = Buffer.alloc(0) }: Call<Principal>): string {
  const path = (request.url ?? '').split('?', 1)[0] ?? ''
  if (json !== undefined) return digest([path, rawBody])
  // The route has parsed the form within its own limits.
  const { fields, files } = parseMultipart(request.headers['content-type'], rawBody, Infinity)
  return digest([
    path,
    ...fields.flat(),
    ...files.flatMap(({ field, fileName, contentType, bytes }) => [field, fileName, contentType ?? '', bytes]),
  ])
}

/** Each part counts with its length, so that different lists never have the same digest. */
function digest(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('hex')
}
