import { createHash } from 'node:crypto'
import type { Principal } from '../access/principal.ts'
import { ApiError, asApiError, overloaded } from '../base/errors.ts'
import type { Call, HIJACKED, Reply } from '../http/edge.ts'
import { parseMultipart } from '../http/multipart.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'
import type { Clock } from '../lib/clock.ts'
import { timedId, type IdSource } from '../base/ids.ts'
import type { CallClaim } from '../pay/relay/operation.ts'
import { answerPurpose, type ClaimOutcome, type IdempotencyStore } from '../store/idempotency/idempotency-store.ts'
import { keptAnswer, readKeptAnswer, writeKeptAnswer } from './kept-answer.ts'
import { HOUR_MS } from '../base/time.ts'

const HEADER = 'idempotency-key'
/** At most 255 characters that are safe in a header; spaces only inside. */
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/
const KEEP_MS = 24 * HOUR_MS
const JSON_TYPE = 'application/json; charset=utf-8'

export interface IdempotentCallPorts {
  readonly store: IdempotencyStore
  readonly keyWrap: KeyWrap
  readonly clock: Clock
  readonly ids: IdSource
}

type Outcome = Reply | typeof HIJACKED

/**
 * `Idempotency-Key`: an API key's request with such a key is answered and charged once, on whichever node. The key is
 * claimed before the hold; the claim ends in the commit of the charge, and is released where nothing was charged.
 * Claims belong to one API key: another key may be limited to other models, so it must not get the answer.
 */
export class IdempotentCalls {
  readonly #ports: IdempotentCallPorts

  constructor(ports: IdempotentCallPorts) {
    this.#ports = ports
  }

  /** A call whose charge ends its claim. */
  once(call: Call<Principal>, run: (claim: CallClaim | null) => Promise<Outcome>): Promise<Outcome> {
    return call.request.headers[HEADER] === undefined ? run(null) : this.#once(call, 'gen', run, 'charge')
  }

  /**
   * A call that creates a job: its reply ends its claim. `again` answers when the job was created and the reply was
   * lost.
   */
  job(
    call: Call<Principal>,
    run: (id: string | null) => Promise<Reply>,
    again: (id: string) => Promise<Reply>,
  ): Promise<Reply> {
    if (call.request.headers[HEADER] === undefined) return run(null)
    const create = async (claim: CallClaim): Promise<Reply> => run(claim.generationId)
    // A job is never a stream, so the response is a plain reply.
    return this.#once(call, 'gen-vid', create, 'reply', again) as Promise<Reply>
  }

  async #once(
    call: Call<Principal>,
    prefix: string,
    run: (claim: CallClaim) => Promise<Outcome>,
    ends: 'charge' | 'reply',
    again?: (id: string) => Promise<Reply>,
  ): Promise<Outcome> {
    const claim = this.#claimOf(call, prefix)
    const outcome = await this.#claim(call, claim)
    if (outcome.status !== 'claimed') return this.#repeat(call, claim.id, outcome, again)
    try {
      const reply = await run(claim)
      if (ends === 'reply' && isReply(reply)) await this.#end(claim, reply)
      else if (!isReply(reply)) await this.#release(claim)
      return reply
    } catch (thrown) {
      // The commit of a job may have succeeded without an answer: its claim stays until that is known.
      if (ends === 'charge' || asApiError(thrown).status < 500) await this.#release(claim)
      throw thrown
    }
  }

  #claimOf(call: Call<Principal>, prefix: string): CallClaim {
    const key = call.request.headers[HEADER]
    if (typeof key !== 'string' || !KEY.test(key))
      throw new ApiError('invalid_input', 'Idempotency-Key: must have 1 to 255 printable ASCII characters')
    const { accountId, keyId } = principalOf(call)
    const id = digest([accountId, keyId, key])
    const generationId = timedId(prefix, call.arrivedAtMs, this.#ports.ids)
    const encrypt: CallClaim['encrypt'] = (answer) => {
      const kept = keptAnswer(200, answer)
      return kept === null ? null : this.#ports.keyWrap.encrypt(writeKeptAnswer(kept), answerPurpose(id, generationId))
    }
    return { id, generationId, encrypt }
  }

  async #claim(call: Call<Principal>, { id, generationId }: CallClaim): Promise<ClaimOutcome> {
    const atMs = this.#ports.clock.now()
    try {
      return await this.#ports.store.claim({
        id,
        accountId: principalOf(call).accountId,
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
    checkModel(principalOf(call), outcome.model)
    if (outcome.answer === null && again !== undefined) return again(generationId)
    const kept = outcome.answer === null ? null : this.#opened(outcome.answer, id, generationId)
    if (kept === null)
      throw conflict(
        'The request with this Idempotency-Key was answered, and its answer is not kept: it was a stream, or too large',
        generationId,
        { noRetry: true },
      )
    return { status: kept.status, body: kept.bytes, contentType: kept.contentType ?? JSON_TYPE, headers }
  }

  /** null when the wrapping key has been removed. */
  #opened(answer: Buffer, id: string, generationId: string): ReturnType<typeof readKeptAnswer> | null {
    try {
      return readKeptAnswer(this.#ports.keyWrap.decrypt(answer, answerPurpose(id, generationId)))
    } catch {
      return null
    }
  }

  /** The job exists. If the stored reply is lost, a repeat gets the job's current state. */
  async #end({ id, generationId }: CallClaim, { status, body }: Reply): Promise<void> {
    const kept = keptAnswer(status, { body })
    const encrypted =
      kept === null ? null : this.#ports.keyWrap.encrypt(writeKeptAnswer(kept), answerPurpose(id, generationId))
    await this.#ports.store.end(id, generationId, encrypted).catch(() => undefined)
  }

  /** If the store does not answer now, the claim ends with its lease. */
  async #release({ id, generationId }: CallClaim): Promise<void> {
    await this.#ports.store.release(id, generationId).catch(() => undefined)
  }
}

function isReply(outcome: Outcome): outcome is Reply {
  return typeof outcome !== 'symbol'
}

function principalOf({ principal }: Call<Principal>): Principal {
  if (principal === null) throw new Error('A paid route has a principal.')
  return principal
}

/**
 * The key was checked again: its allowed models may have changed since the first answer. An answer without a known
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
  // The route has read it within its own limits.
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
