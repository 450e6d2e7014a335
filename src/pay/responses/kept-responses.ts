import { openFor, purposeOf } from '../../base/cipher.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Settings } from '../../catalog/catalog.ts'
import { ApiError, overloaded } from '../../base/errors.ts'
import { isObject, wordOf } from '../../kinds/fields/body-fields.ts'
import { referencesOf, resolvedInput } from '../../protocols/responses/client/keeping.ts'
import { keptResponse, newResponse, usageOf } from '../../protocols/responses/client/response-body.ts'
import type { Reread } from '../../base/reread.ts'
import type { KeyWrap } from '../../ledger/key-wrap.ts'
import type { Clock } from '../../base/clock.ts'
import type { RequestEcho, ResponsesRequest } from '../../protocols/responses/request.ts'
import type { AnswerKeeper, GenerationResult, RunningAnswer } from '../relay/generation-input.ts'
import { chargedUsage, identityOf } from '../relay/outcome.ts'
import type { GenerationStore } from '../../store/log/generation-store.ts'
import type { Reach } from '../../store/accounts/key-lists.ts'
import {
  CHAIN_MAX,
  responsePurpose,
  type KeptResponse,
  type KeptTurn,
  type ResponseStore,
} from '../../store/responses/response-store.ts'
import { elementsOf, excessOf, itemsIn, LINE_END, listedInput, readAnswer, writeAnswer } from './kept-json.ts'
import { StopMarks } from './stop-marks.ts'
import type { JsonObject } from '../../base/json-text.ts'
import { DAY_MS } from '../../base/time.ts'

/**
 * The largest answer that is kept. In the background a larger one is free, since nobody could get it; otherwise the
 * client has it, and it is listed as charged but not kept.
 */
const ANSWER_BYTES_MAX = 8 * 1_048_576
/** The most bytes of a conversation, the same as of a request. */
const CONVERSATION_BYTES_MAX = 10 * 1_048_576
/** The most bytes that are read for a conversation: answers also repeat the tools of their requests. */
const CHAIN_BYTES_MAX = 64 * 1_048_576
/**
 * Turns are read from the store in parts of this size, since the store may read a whole part in one turn of the event
 * loop.
 */
const PART_BYTES = 4 * 1_048_576
const PART_TURNS = 100
/** The most memory that one conversation is counted with while it is read. */
const READ_BYTES_MAX = 32 * 1_048_576
const MEGABYTE = 1_048_576
const COMMA = Buffer.from(',')
const ARRAY_OPEN = Buffer.from('[')
const ARRAY_CLOSE = Buffer.from(']')
const INPUT_OPEN = Buffer.from('{"input":[')
/** The most requests of one account that wait to read kept answers. */
const WAITING_MAX = 200
/** An item's id that names its generation. The item is one of an answer, or of an answer's list of inputs. */
const ITEM_ID = /^[a-z]+-(\d+-[0-9A-Za-z]+)-(?:in)?\d+$/
const PREVIOUS = 'previous_response_id'
const REFERENCE = 'item_reference'
/** The fields of a request that refer to kept items. */
type Continuing = typeof PREVIOUS | typeof REFERENCE

/** The part of a list that a client asks for. */
export interface ItemPage {
  readonly order: 'asc' | 'desc'
  /** The id of the item before this part; null = it is the first part. */
  readonly after: string | null
  readonly limit: number
}

/** A turn's items, as JSON arrays. */
interface PlainTurn {
  readonly id: string
  readonly input: Buffer
  readonly output: Buffer
}

export interface KeptResponsePorts {
  readonly store: ResponseStore
  readonly generations: Pick<GenerationStore, 'get'>
  /** Whether other processes share the store, and may stop answers that run here. */
  readonly shared: boolean
  readonly keyWrap: KeyWrap
  readonly clock: Clock
  readonly settings: () => Settings['keptResponses']
  /** For the kept contents that this node has in memory at one time. */
  readonly room: Room
}

/** Counts bytes; `onRoom` is called when there is room for them. */
export interface Room {
  hold(): { reach(bytes: number, onRoom: () => void): boolean; release(): void }
}

/** Answers kept for their account, encrypted, for as long as the operator sets (clients.md 3). */
export class KeptResponses {
  readonly #ports: KeptResponsePorts
  readonly #marks: StopMarks | null
  /** Reading requests by account, which wait for each other. */
  readonly #lines = new Map<string, { last: Promise<void>; waiting: number }>()

  constructor(ports: KeptResponsePorts) {
    this.#ports = ports
    this.#marks = ports.shared ? new StopMarks(ports.store, ports.clock) : null
  }

  /** null = the answer is only sent. Throws an ApiError if nothing is kept on this service. */
  keeperOf(read: Reread<{ readonly request: ResponsesRequest }>, accountId: string): AnswerKeeper | null {
    const { echo } = read.value.request
    if (!echo.store) return null
    const { background } = echo
    this.#refuseOff(background ? 'background' : 'store')
    return {
      background,
      begin: (answer) => this.#begin(answer, echo, read.value.request.row),
      fits: (answer) => writeAnswer(answer).length <= ANSWER_BYTES_MAX,
      encrypt: (generationId, answer) => {
        const written = writeAnswer(answer)
        return written.length > ANSWER_BYTES_MAX ? null : this.#encrypt('answer', generationId, accountId, written)
      },
      end: (answer, result) => void this.#end(answer, result, echo),
    }
  }

  async #begin(
    answer: RunningAnswer,
    echo: RequestEcho,
    { previousId, items }: ResponsesRequest['row'],
  ): Promise<void> {
    const { input } = answer
    const { generationId, principal, arrivedAtMs } = input
    const { accountId } = principal
    const begun = writeAnswer(newResponse(identityOf(input, null), echo))
    try {
      await this.#ports.store.add(
        {
          id: generationId,
          accountId,
          keyId: principal.keyId,
          previousId: previousId === null ? null : generationIdOf(previousId),
          input: this.#encrypt('input', generationId, accountId, Buffer.from(JSON.stringify(items))),
          answer: this.#encrypt('answer', generationId, accountId, begun),
          createdAtMs: arrivedAtMs,
        },
        this.#ports.settings().megabytes * MEGABYTE,
      )
    } catch (cause) {
      throw overloaded(0, 'store', cause)
    }
    this.#marks?.watch(answer)
  }

  /** An answer ended without a charge: in the background it is kept as failed, otherwise its row is deleted. */
  async #end({ input, cancelled }: RunningAnswer, result: GenerationResult, echo: RequestEcho): Promise<void> {
    const { error, record } = result
    if (error === null && record.status !== 'cancelled') return
    const { generationId, principal } = input
    const { store } = this.#ports
    const ended = { error: cancelled ? null : error, usage: chargedUsage(result) }
    const body = keptResponse(identityOf(input, null), echo, { lastEvent: null, ended })
    const written = this.#encrypt('answer', generationId, principal.accountId, writeAnswer(body))
    // If the store does not answer, a row without an open hold remains, which counts as failed.
    await (echo.background ? store.end(generationId, written) : store.drop(generationId)).catch(() => undefined)
  }

  /** null = no such answer is kept within the reach. */
  async find(reach: Reach, generationId: string): Promise<JsonObject | null> {
    const found = await this.#ports.store.find(reach, generationId, this.#sinceMs)
    if (found === null) return null
    const plain = this.#decrypt('answer', found.id, reach.accountId, found.answer)
    if (plain === null) return null
    const body = readAnswer(plain)
    if (found.state === 'ended') return body
    if (found.state === 'lost') return { ...body, ...LOST }
    if (found.state === 'unkept') return { ...body, ...UNKEPT, usage: await this.#usageOf(found.id) }
    return { ...body, status: found.state === 'stopped' ? 'cancelled' : 'in_progress' }
  }

  /** The usage by the log, which is written in the commit of the charge. */
  async #usageOf(generationId: string): Promise<JsonObject | null> {
    const row = await this.#ports.generations.get(generationId)
    const charged = row === null ? null : chargedUsage({ record: row, chargedMicro: row.costMicro })
    return charged === null ? null : usageOf(charged)
  }

  /** Stops an answer that another process runs, and waits for its end as long as that may take. */
  async stop(reach: Reach, generationId: string): Promise<void> {
    await this.#marks?.stop(reach, generationId, async () => {
      const found = await this.#ports.store.find(reach, generationId, this.#sinceMs)
      return found?.state === 'running'
    })
  }

  /** false = no such answer is kept within the reach. */
  remove(reach: Reach, generationId: string): Promise<boolean> {
    return this.#ports.store.remove(reach, generationId, this.#sinceMs)
  }

  /**
   * A part of the input items of a kept answer; null = no such answer is kept within the reach. Only the turns of that
   * part are read: all turns together may be far larger.
   */
  async inputOf(
    reach: Reach,
    generationId: string,
    { order, after, limit }: ItemPage,
  ): Promise<{ readonly data: readonly JsonObject[]; readonly hasMore: boolean; readonly isFound: boolean } | null> {
    const turns = await this.#ports.store.turns(reach, generationId, this.#sinceMs)
    if (turns.at(-1)?.id !== generationId) return null
    return this.#withRoom(reach.accountId, bytesOf(turns), async () => {
      const data: JsonObject[] = []
      let isFound = after === null
      for await (const turn of this.#read(reach.accountId, order === 'asc' ? turns : turns.toReversed())) {
        if (turn === null) return null
        const items = [
          ...(await Array.fromAsync(listedInput(turn))),
          ...(turn.id === generationId ? [] : await Array.fromAsync(itemsIn(turn.output))),
        ]
        for (const item of order === 'asc' ? items : items.toReversed()) {
          if (data.length === limit) return { data, hasMore: true, isFound }
          if (isFound) data.push(item)
          else isFound = item['id'] === after
        }
      }
      return { data, hasMore: false, isFound }
    })
  }

  /** The conversation up to a Response, for the request that continues it. Throws an ApiError. */
  async history(reach: Reach, previousId: string): Promise<readonly unknown[]> {
    this.#refuseOff('previous_response_id')
    const asked = generationIdOf(previousId)
    const turns = await this.#ports.store.turns(reach, asked, this.#sinceMs)
    checkTurns(turns, asked, previousId)
    return this.#withRoom(reach.accountId, bytesOf(turns), async () => {
      const parts: Buffer[] = []
      let bytes = 0
      for await (const turn of this.#read(reach.accountId, turns)) {
        if (turn === null) throw previousNotFound(previousId)
        bytes += turn.input.length + turn.output.length
        if (bytes > CONVERSATION_BYTES_MAX) throw tooLarge(PREVIOUS, 'it has more than 10 MB')
        // The output is copied, or the whole decrypted answer would stay in memory with it.
        parts.push(turn.input, Buffer.from(turn.output))
      }
      return conversation(parts, PREVIOUS)
    })
  }

  /** The elements of `input` with the kept items that it refers to; null = it refers to none. Throws an ApiError. */
  async resolved(reach: Reach, body: unknown): Promise<readonly unknown[] | null> {
    const times = referencesOf(body)
    if (times.size === 0) return null
    this.#refuseOff(REFERENCE)
    return this.#withRoom(reach.accountId, READ_BYTES_MAX, async () => {
      const items = new Map<string, Buffer>()
      let bytes = 0
      for await (const [id, json] of this.#itemsBeside(reach, [...times.keys()])) {
        if (!times.has(id) || items.has(id)) continue
        items.set(id, json())
        bytes += (items.get(id)?.length ?? 0) * (times.get(id) ?? 1)
        if (bytes > CONVERSATION_BYTES_MAX) throw tooLarge(REFERENCE, 'it has more than 10 MB')
      }
      for (const id of times.keys()) if (!items.has(id)) throw itemNotFound(id)
      const parts = resolvedInput<Buffer>(body, items).map((element) =>
        Buffer.isBuffer(element)
          ? Buffer.concat([ARRAY_OPEN, element, ARRAY_CLOSE])
          : Buffer.from(JSON.stringify([element])),
      )
      return conversation(parts, REFERENCE)
    })
  }

  /** All items, by id, of the kept Responses to which the items `ids` belong. A provider's own id names no Response. */
  async *#itemsBeside(reach: Reach, ids: readonly string[]): AsyncGenerator<readonly [string, () => Buffer]> {
    const turns = new Set(ids.flatMap((id) => ITEM_ID.exec(id)?.[1] ?? []))
    checkTurnCount(turns.size, REFERENCE)
    let bytes = 0
    for (const turn of turns) {
      const found = await this.#ports.store.find(reach, `gen-${turn}`, this.#sinceMs)
      const part = found?.state === 'ended' ? this.#plain(found, reach.accountId) : null
      if (part === null) continue
      bytes += part.input.length + part.output.length
      if (bytes > CHAIN_BYTES_MAX) throw tooLarge(REFERENCE)
      for await (const item of listedInput(part)) yield [wordOf(item['id']), () => Buffer.from(JSON.stringify(item))]
      for await (const element of elementsOf(part.output)) {
        const item: unknown = JSON.parse(element.toString('utf8'))
        // The item is copied, or the whole decrypted answer would stay in memory with it.
        if (isObject(item)) yield [wordOf(item['id']), () => Buffer.from(element)]
      }
      await nextTurn()
    }
  }

  /** Answers from before this time have expired. */
  get #sinceMs(): number {
    return this.#ports.clock.now() - this.#ports.settings().days * DAY_MS
  }

  removeExpired(nowMs: number): Promise<void> {
    return this.#ports.store.removeOlder(this.#sinceMs, nowMs)
  }

  #refuseOff(field: string): void {
    if (this.#ports.settings().days > 0) return
    throw new ApiError(
      'invalid_input',
      `${field}: answers are not kept on this service. Send the whole conversation in input, without ${field}`,
    )
  }

  /** The requests of an account read one after another, so an account takes no more of the room than one request. */
  async #withRoom<Result>(accountId: string, bytes: number, read: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(accountId) ?? { last: Promise.resolve(), waiting: 0 }
    if (line.waiting >= WAITING_MAX)
      throw new ApiError(
        'rate_limit_exceeded',
        `At most ${WAITING_MAX} requests of an account wait for what is kept for it. Retry after 1 seconds`,
        { retryAfterSeconds: 1 },
      )
    this.#lines.set(accountId, line)
    line.waiting += 1
    const turn = line.last.then(() => this.#inRoom(bytes, read))
    line.last = turn.then(
      () => undefined,
      () => undefined,
    )
    try {
      return await turn
    } finally {
      line.waiting -= 1
      if (line.waiting === 0) this.#lines.delete(accountId)
    }
  }

  /** Waits until the node has room for so many bytes of kept contents: many requests may ask for large ones at once. */
  async #inRoom<Result>(bytes: number, read: () => Promise<Result>): Promise<Result> {
    const hold = this.#ports.room.hold()
    const room = Promise.withResolvers<void>()
    if (!hold.reach(Math.min(bytes, READ_BYTES_MAX), room.resolve)) await room.promise
    try {
      return await read()
    } finally {
      hold.release()
    }
  }

  /** The turns in their order; null = the turn is gone, or its wrapping key is no longer set. */
  async *#read(accountId: string, turns: readonly KeptTurn[]): AsyncGenerator<PlainTurn | null> {
    for (const part of inParts(turns)) {
      const ids = part.map(({ id }) => id)
      const rows = await this.#ports.store.contents(accountId, ids, this.#sinceMs)
      const found = new Map(rows.map((row) => [row.id, row]))
      for (const id of ids) {
        const row = found.get(id)
        yield row === undefined ? null : this.#plain(row, accountId)
        await nextTurn()
      }
    }
  }

  #plain({ id, input, answer }: Omit<KeptResponse, 'state'>, accountId: string): PlainTurn | null {
    const asked = this.#decrypt('input', id, accountId, input)
    const plain = this.#decrypt('answer', id, accountId, answer)
    if (asked === null || plain === null) return null
    return { id, input: asked, output: plain.subarray(plain.indexOf(LINE_END) + 1) }
  }

  #encrypt(part: 'input' | 'answer', id: string, accountId: string, plain: Buffer): Buffer {
    return this.#ports.keyWrap.encrypt(plain, purposeOf(responsePurpose(part, id), accountId))
  }

  /** null = the wrapping key that encrypted it is no longer set. */
  #decrypt(part: 'input' | 'answer', id: string, accountId: string, encrypted: Buffer): Buffer | null {
    try {
      return openFor(this.#ports.keyWrap, encrypted, responsePurpose(part, id), accountId).plain
    } catch {
      return null
    }
  }
}

/** The generation id of a Response, from the id that clients know or from the generation id itself. */
export function generationIdOf(id: string): string {
  return id.replace(/^resp-/, 'gen-')
}

/** A conversation joined from its parts, each a JSON array, within the limits of a request. Throws an ApiError. */
export async function conversation(parts: readonly Buffer[], parameter: Continuing): Promise<readonly unknown[]> {
  const inner = parts.map((part) => part.subarray(1, -1)).filter((part) => part.length > 0)
  const bytes = Buffer.concat([
    INPUT_OPEN,
    ...inner.flatMap((part, index) => (index === 0 ? [part] : [COMMA, part])),
    Buffer.from(']}'),
  ])
  const excess = bytes.length > CONVERSATION_BYTES_MAX ? 'it has more than 10 MB' : await excessOf(bytes)
  if (excess !== null) throw tooLarge(parameter, excess)
  return Array.fromAsync(elementsOf(bytes.subarray(INPUT_OPEN.length - 1, -1)), (element): unknown =>
    JSON.parse(element.toString('utf8')),
  )
}

export function previousNotFound(previousId: string): ApiError {
  return new ApiError(
    'previous_response_not_found',
    `Previous response with id '${previousId.slice(0, 128)}' not found. An answer is kept only if its request says store: true`,
  )
}

function itemNotFound(id: string): ApiError {
  return new ApiError(
    'item_not_found',
    `Item with id '${id.slice(0, 128)}' not found. Items are kept only with an answer whose request says store: true. Ask so, or send the item itself`,
  )
}

function tooLarge(parameter: Continuing, excess = ''): ApiError {
  return new ApiError(
    'request_too_large',
    excess === ''
      ? `The conversation of ${parameter} has become too large. Begin another one`
      : `The conversation of ${parameter} is larger than a request may be: ${excess}. Begin another one`,
  )
}

function checkTurnCount(turns: number, parameter: Continuing): void {
  if (turns > CHAIN_MAX)
    throw new ApiError(
      'invalid_input',
      `${parameter}: the conversation has more than ${CHAIN_MAX} turns. Begin another one`,
    )
}

/** The request ended without an answer: its process died, or its store did not answer. */
const LOST = {
  status: 'failed',
  error: { code: 'server_error', message: 'The request ended without an answer. It was not charged' },
} as const

/** The client has had the answer, for example as a stream, but it was too large to keep. */
const UNKEPT = {
  status: 'incomplete',
  error: { code: 'server_error', message: 'The answer was charged, and is not kept: it is too large' },
} as const

function checkTurns(turns: readonly KeptTurn[], asked: string, previousId: string): void {
  checkTurnCount(turns.length, PREVIOUS)
  if (bytesOf(turns) > CHAIN_BYTES_MAX) throw tooLarge(PREVIOUS)
  const [first] = turns
  // An earlier turn may have been removed.
  const isWhole = first?.previousId === null && turns.at(-1)?.id === asked
  if (!isWhole || turns.some(({ ended }) => !ended)) throw previousNotFound(previousId)
}

function bytesOf(turns: readonly KeptTurn[]): number {
  return turns.reduce((sum, { bytes }) => sum + bytes, 0)
}

function inParts(turns: readonly KeptTurn[]): readonly (readonly KeptTurn[])[] {
  const parts: KeptTurn[][] = []
  let bytes = Infinity
  for (const turn of turns) {
    bytes += turn.bytes
    const part = parts.at(-1)
    if (part !== undefined && bytes <= PART_BYTES && part.length < PART_TURNS) part.push(turn)
    else {
      parts.push([turn])
      bytes = turn.bytes
    }
  }
  return parts
}
