import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Settings } from '../../catalog/catalog.ts'
import { ApiError, overloaded } from '../../base/errors.ts'
import { parseInTurns } from '../../http/json-body.ts'
import type { ChunkIdentity } from '../../kinds/chat/answer.ts'
import { isObject, wordOf } from '../../kinds/fields/json-fields.ts'
import { referencesOf, resolvedInput } from '../../protocols/responses/client/keeping.ts'
import { keptResponse, newResponse } from '../../protocols/responses/client/kept-response.ts'
import type { KeyWrap } from '../../ledger/key-wrap.ts'
import type { Clock } from '../../lib/clock.ts'
import { BODY_LIMITS, JsonScan } from '../../base/json-scan.ts'
import { isResponsesOperation } from '../../operations/responses.ts'
import type { Generation } from '../relay/generation.ts'
import type { GenerationInput, GenerationResult } from '../relay/generation-input.ts'
import type { AnswerKeeper, Operation } from '../relay/operation.ts'
import {
  CHAIN_MAX,
  responsePurpose,
  type KeptResponse,
  type KeptTurn,
  type ResponseStore,
} from '../../store/responses/response-store.ts'
import { StopMarks } from './stop-marks.ts'
import type { JsonObject } from '../../lib/json-object.ts'
import { DAY_MS } from '../../base/time.ts'

/** A longer answer is charged but not kept. */
const ANSWER_BYTES_MAX = 8 * 1_048_576
/** The largest size of a request. */
const CONVERSATION_BYTES_MAX = 10 * 1_048_576
/** The most that is read for a conversation: the answers also repeat their requests' tools. */
const CHAIN_BYTES_MAX = 64 * 1_048_576
/** Turns are read from the store in parts: the store may read a part at one go. */
const PART_BYTES = 4 * 1_048_576
const PART_TURNS = 100
/** The most memory that one conversation is counted with while it is read. */
const READ_BYTES_MAX = 32 * 1_048_576
const MEGABYTE = 1_048_576
const LINE_END = 0x0a
const COMMA = Buffer.from(',')
/** An item's id that names its generation: one of an answer, or of the list of what it answers. */
const ITEM_ID = /^[a-z]+-(\d+-[0-9A-Za-z]+)-(?:in)?\d+$/
const PREVIOUS = 'previous_response_id'
const REFERENCE = 'item_reference'
/** The fields of a request that bring kept items into it. */
type Continuing = typeof PREVIOUS | typeof REFERENCE

/** The part of a list that a client asks for. */
export interface ItemPage {
  readonly order: 'asc' | 'desc'
  /** The id of the item before it; null = it is the first part. */
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
  /** Other processes share the store, and may stop what runs here. */
  readonly shared: boolean
  readonly keyWrap: KeyWrap
  readonly clock: Clock
  readonly settings: () => Settings['keptResponses']
  /** For the kept contents that are in memory at one time, on this node. */
  readonly room: Room
}

/** Counts bytes; whoever finds no room waits for it. */
export interface Room {
  hold(): { reach(bytes: number, onRoom: () => void): boolean; release(): void }
}

/** Answers kept for their account, encrypted, for as long as the operator sets (clients.md 3). */
export class KeptResponses {
  readonly #ports: KeptResponsePorts
  readonly #marks: StopMarks | null

  constructor(ports: KeptResponsePorts) {
    this.#ports = ports
    this.#marks = ports.shared ? new StopMarks(ports.store, ports.clock) : null
  }

  /** null = the answer is only sent. Throws an ApiError if nothing is kept here. */
  keeperOf(operation: Operation): AnswerKeeper | null {
    if (!isResponsesOperation(operation) || !operation.echo.store) return null
    const { background } = operation.echo
    this.#refuseOff(background ? 'background' : 'store')
    return {
      background,
      encrypt: (generationId, answer) => {
        const written = writeAnswer(answer)
        return written.length > ANSWER_BYTES_MAX ? null : this.#encrypt('answer', generationId, written)
      },
    }
  }

  /** Its request has been admitted. No provider is asked before the row exists. */
  async begin(generation: Generation): Promise<void> {
    const { input } = generation
    const { generationId, principal, operation, arrivedAtMs } = input
    if (!isResponsesOperation(operation)) throw new Error('Only Responses are kept.')
    const { echo, row } = operation
    try {
      await this.#ports.store.add(
        {
          id: generationId,
          accountId: principal.accountId,
          previousId: row.previousId === null ? null : generationIdOf(row.previousId),
          input: this.#encrypt('input', generationId, Buffer.from(JSON.stringify(row.items))),
          answer: this.#encrypt('answer', generationId, writeAnswer(newResponse(identityOf(input), echo))),
          createdAtMs: arrivedAtMs,
        },
        this.#ports.settings().megabytes * MEGABYTE,
      )
    } catch (cause) {
      throw overloaded(0, 'store', cause)
    }
    this.#marks?.watch(generation)
  }

  /** An answer that no charge has ended: in the background it is kept as failed, else it is forgotten. */
  async end({ input, cancelled }: Generation, { error, record }: GenerationResult): Promise<void> {
    if (error === null && record.status !== 'cancelled') return
    const { generationId, operation, keeper } = input
    if (keeper === null || !isResponsesOperation(operation)) return
    const body = keptResponse(identityOf(input), operation.echo, {
      lastEvent: null,
      ended: { error: cancelled ? null : error },
    })
    // If the store does not answer, a row without an open hold is left, which counts as failed.
    await (
      keeper.background
        ? this.#ports.store.end(generationId, this.#encrypt('answer', generationId, writeAnswer(body)))
        : this.#ports.store.drop(generationId)
    ).catch(() => undefined)
  }

  /** null = the account keeps no such answer. */
  async find(accountId: string, generationId: string): Promise<JsonObject | null> {
    const found = await this.#ports.store.find(accountId, generationId, this.#sinceMs)
    if (found === null) return null
    const plain = this.#decrypt('answer', found.id, found.answer)
    if (plain === null) return null
    const body = readAnswer(plain)
    if (found.state === 'ended') return body
    if (found.state === 'lost') return { ...body, ...LOST }
    return { ...body, status: found.state === 'stopped' ? 'cancelled' : 'in_progress' }
  }

  /** Stops an answer that another process runs, and waits for its end, for as long as that can take. */
  async stop(accountId: string, generationId: string): Promise<void> {
    await this.#marks?.stop(accountId, generationId, async () => {
      const found = await this.#ports.store.find(accountId, generationId, this.#sinceMs)
      return found?.state === 'running'
    })
  }

  /** false = the account keeps no such answer. */
  remove(accountId: string, generationId: string): Promise<boolean> {
    return this.#ports.store.remove(accountId, generationId, this.#sinceMs)
  }

  /**
   * A part of the items that a kept answer answers; null = the account keeps no such answer. Turns are read only as far
   * as the part needs them: all of them may be far more.
   */
  async inputOf(
    accountId: string,
    generationId: string,
    { order, after, limit }: ItemPage,
  ): Promise<{ readonly data: readonly JsonObject[]; readonly hasMore: boolean; readonly isFound: boolean } | null> {
    const turns = await this.#ports.store.turns(accountId, generationId, this.#sinceMs)
    if (turns.at(-1)?.id !== generationId) return null
    return this.#withRoom(bytesOf(turns), async () => {
      const data: JsonObject[] = []
      let isFound = after === null
      for await (const turn of this.#read(accountId, order === 'asc' ? turns : turns.toReversed())) {
        if (turn === null) return null
        const items = [...listedInput(turn), ...(turn.id === generationId ? [] : itemsIn(turn.output))]
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
  async history(accountId: string, previousId: string): Promise<readonly unknown[]> {
    this.#refuseOff('previous_response_id')
    const asked = generationIdOf(previousId)
    const turns = await this.#ports.store.turns(accountId, asked, this.#sinceMs)
    checkTurns(turns, asked, previousId)
    return this.#withRoom(bytesOf(turns), async () => {
      const parts: Buffer[] = []
      let bytes = 0
      for await (const turn of this.#read(accountId, turns)) {
        if (turn === null) throw previousNotFound(previousId)
        bytes += turn.input.length + turn.output.length
        if (bytes > CONVERSATION_BYTES_MAX) throw tooLarge(PREVIOUS, 'it has more than 10 MB')
        // A copy, or the rest of the answer would stay in memory with its output.
        parts.push(turn.input, Buffer.from(turn.output))
      }
      return conversation(parts, PREVIOUS)
    })
  }

  /** The elements of `input` with the kept items that it refers to; null = it refers to none. Throws an ApiError. */
  async resolved(accountId: string, body: unknown): Promise<readonly unknown[] | null> {
    const times = referencesOf(body)
    if (times.size === 0) return null
    this.#refuseOff(REFERENCE)
    return this.#withRoom(READ_BYTES_MAX, async () => {
      const items = new Map<string, JsonObject>()
      let bytes = 0
      for await (const [id, item] of this.#itemsBeside(accountId, [...times.keys()])) {
        if (!times.has(id) || items.has(id)) continue
        items.set(id, item)
        bytes += JSON.stringify(item).length * (times.get(id) ?? 1)
        if (bytes > CONVERSATION_BYTES_MAX) throw tooLarge(REFERENCE, 'it has more than 10 MB')
      }
      for (const id of times.keys()) if (!items.has(id)) throw itemNotFound(id)
      return conversation([Buffer.from(JSON.stringify(resolvedInput(body, items)))], REFERENCE)
    })
  }

  /** All items, by id, of the kept Responses that the items `ids` belong to. A provider's own id names no Response. */
  async *#itemsBeside(accountId: string, ids: readonly string[]): AsyncGenerator<readonly [string, JsonObject]> {
    const turns = new Set(ids.flatMap((id) => ITEM_ID.exec(id)?.[1] ?? []))
    checkTurnCount(turns.size, REFERENCE)
    let bytes = 0
    for (const turn of turns) {
      const found = await this.#ports.store.find(accountId, `gen-${turn}`, this.#sinceMs)
      const part = found?.state === 'ended' ? this.#plain(found) : null
      if (part === null) continue
      bytes += part.input.length + part.output.length
      if (bytes > CHAIN_BYTES_MAX) throw tooLarge(REFERENCE)
      for (const item of [...listedInput(part), ...itemsIn(part.output)]) yield [wordOf(item['id']), item]
      await nextTurn()
    }
  }

  /** Older answers are past their time. */
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

  /** Waits until the node has room for so much of kept contents: many requests may ask for large ones at once. */
  async #withRoom<Result>(bytes: number, read: () => Promise<Result>): Promise<Result> {
    const hold = this.#ports.room.hold()
    const room = Promise.withResolvers<void>()
    if (!hold.reach(Math.min(bytes, READ_BYTES_MAX), room.resolve)) await room.promise
    try {
      return await read()
    } finally {
      hold.release()
    }
  }

  /** The turns in their order; null for one that is gone, or whose key is no longer there. */
  async *#read(accountId: string, turns: readonly KeptTurn[]): AsyncGenerator<PlainTurn | null> {
    for (const part of inParts(turns)) {
      const ids = part.map(({ id }) => id)
      const rows = await this.#ports.store.contents(accountId, ids, this.#sinceMs)
      const found = new Map(rows.map((row) => [row.id, row]))
      for (const id of ids) {
        const row = found.get(id)
        yield row === undefined ? null : this.#plain(row)
        await nextTurn()
      }
    }
  }

  #plain({ id, input, answer }: Omit<KeptResponse, 'state'>): PlainTurn | null {
    const [asked, plain] = [this.#decrypt('input', id, input), this.#decrypt('answer', id, answer)]
    if (asked === null || plain === null) return null
    return { id, input: asked, output: plain.subarray(plain.indexOf(LINE_END) + 1) }
  }

  #encrypt(part: 'input' | 'answer', id: string, plain: Buffer): Buffer {
    return this.#ports.keyWrap.encrypt(plain, responsePurpose(part, id))
  }

  /** null where the key that encrypted it is no longer there. */
  #decrypt(part: 'input' | 'answer', id: string, encrypted: Buffer): Buffer | null {
    try {
      return this.#ports.keyWrap.decrypt(encrypted, responsePurpose(part, id))
    } catch {
      return null
    }
  }
}

/** The facts of a Response that is not complete. */
export function identityOf({ generationId, arrivedAtMs, plan }: GenerationInput): ChunkIdentity {
  return {
    id: generationId,
    created: Math.floor(arrivedAtMs / 1_000),
    model: plan.candidates[0]?.model.id ?? '',
    provider: '',
  }
}

/** The generation of a Response, by the id that clients know or by its own. */
export function generationIdOf(id: string): string {
  return id.replace(/^resp-/, 'gen-')
}

/** A conversation from its parts, each a JSON array, within the limits of a request. Throws an ApiError. */
export async function conversation(parts: readonly Buffer[], parameter: Continuing): Promise<readonly unknown[]> {
  const inner = parts.map((part) => part.subarray(1, -1)).filter((part) => part.length > 0)
  const bytes = Buffer.concat([
    Buffer.from('{"input":['),
    ...inner.flatMap((part, index) => (index === 0 ? [part] : [COMMA, part])),
    Buffer.from(']}'),
  ])
  const excess =
    bytes.length > CONVERSATION_BYTES_MAX ? 'it has more than 10 MB' : new JsonScan(BODY_LIMITS).whole(bytes)
  if (excess !== null) throw tooLarge(parameter, excess)
  return itemsOf(await parseInTurns(bytes))
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

/** Its request ended without an answer: its process died, or its store did not answer. */
const LOST = {
  status: 'failed',
  error: { code: 'server_error', message: 'The request ended without an answer. It was not charged' },
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

/**
 * The Response without its output on one line of JSON, then the output, so that a conversation need not read the rest.
 */
function writeAnswer({ output, ...head }: JsonObject): Buffer {
  return Buffer.from(`${JSON.stringify(head)}\n${JSON.stringify(output)}`)
}

function readAnswer(written: Buffer): JsonObject {
  const end = written.indexOf(LINE_END)
  // Written by `writeAnswer`, and encrypted afterwards.
  const head = JSON.parse(written.subarray(0, end).toString('utf8')) as JsonObject
  return { ...head, output: itemsIn(written.subarray(end + 1)) }
}

function itemsIn(json: Buffer): readonly JsonObject[] {
  const items: unknown = JSON.parse(json.toString('utf8'))
  return Array.isArray(items) ? items.filter(isObject) : []
}

function itemsOf({ input }: JsonObject): readonly unknown[] {
  return Array.isArray(input) ? input : []
}

function listedInput({ id, input }: Pick<PlainTurn, 'id' | 'input'>): readonly JsonObject[] {
  return itemsIn(input).map((item, index) => listed(item, `msg-${id.slice(4)}-in${index}`))
}

/** An item in OpenAI's list form: with an id, and its content in parts. */
function listed(item: JsonObject, id: string): JsonObject {
  const { role, content } = item
  const own = typeof item['id'] === 'string' && item['id'] !== '' ? {} : { id }
  if (typeof role !== 'string') return { ...own, ...item }
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  const parts =
    typeof content === 'string'
      ? [{ type, text: content, ...(type === 'output_text' ? { annotations: [] } : {}) }]
      : content
  return { ...own, type: 'message', status: 'completed', ...item, content: parts }
}
