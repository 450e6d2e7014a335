import type { LimitShare } from '../access/key-limiter.ts'
import type { Principal } from '../access/principal.ts'
import type { ClientProtocol } from '../base/client-protocol.ts'
import type { SyncedClock } from '../base/clock.ts'
import type { IdSource } from '../base/ids.ts'
import type { WireRoute } from '../base/wire-route.ts'
import type { CatalogService } from '../catalog/catalog-service.ts'
import type { Call, HIJACKED, Route } from '../http/edge.ts'
import type { SseStreams } from '../http/sse.ts'
import type { EventAction } from '../ledger/event-action.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AnswerBudget } from '../protocols/answer-budget.ts'
import type { AdapterPorts, AdapterTable } from '../protocols/ports/adapter.ts'
import type { ClientInput } from '../protocols/ports/client-call.ts'
import type { Reach } from '../store/accounts/key-lists.ts'
import type { Expiring } from '../store/ledger/expiry-sweep.ts'
import type { Store } from '../store/store.ts'
import type { IdempotentCalls } from './idempotency/idempotent-calls.ts'
import type { AttemptQueuePorts } from './relay/attempt-queue.ts'
import type { CopyStream } from './relay/event-buffer.ts'
import type { AnswerKeeper } from './relay/generation-input.ts'
import type { Operation } from './relay/operation.ts'
import type { Relay } from './relay/relay.ts'

export interface PayPorts {
  readonly store: Store
  readonly catalog: CatalogService
  readonly ledger: Ledger
  readonly adapters: AdapterTable
  /** What they are built from. */
  readonly upstream: AdapterPorts
  /** The node's memory budget for plain answers. */
  readonly answers: AnswerBudget
  readonly keyWrap: KeyWrap
  readonly clock: SyncedClock
  readonly ids: IdSource
  /** This process among those that share its store. */
  readonly node: { readonly id: string; readonly keyLimits: LimitShare }
  /** null = no other node reads a copy of this one's streams. */
  readonly copyStream: CopyStream | null
  readonly singleProcess: boolean
  /** Writes one sentence for the operator as a log line. */
  readonly notice: (message: string) => void
}

/** What a room is opened over. */
export interface RoomPorts extends PayPorts, AttemptQueuePorts {
  readonly clock: SyncedClock
  readonly relay: Relay
  readonly idempotency: IdempotentCalls
  readonly sse: SseStreams
}

/** The service as its clients reach it, and its other nodes. */
export interface RoomEdge {
  /** null = taken from the request's Host. */
  readonly publicUrl: string | null
  /** The form in which providers see a name of an account. */
  readonly outwardName: (accountId: string, name: string) => string
  /** Answers of other nodes, by generation id; null = no other nodes can be reached. */
  readonly elsewhere: {
    /** Sends the events after number `after`, then the live ones; false = there is no such stream. */
    attach(call: Call<Principal>, id: string, after: number): Promise<boolean>
    cancel(reach: Reach, id: string): Promise<unknown>
    /** null = no other node has it. */
    body(reach: Reach, id: string): Promise<Readonly<Record<string, unknown>> | null>
  } | null
}

/** A part of the paid path that the rest does without: what it adds. */
export interface PaidRoom {
  /** The kinds that it reads, in the place of those with the same paths. */
  readonly kinds?: readonly PaidKind[]
  /** Its other routes for customers' programs. */
  readonly routes?: (edge: RoomEdge) => readonly Route<Principal>[]
  /** Handlers of the operator's routes, by their keys in the contract of the admin API. */
  readonly operator?: Readonly<Record<string, OperatorHandler>>
  /** What is deleted after its time, by its name for log lines. */
  readonly expiring?: Readonly<Record<string, Expiring>>
  /** Starts the background work. */
  start?(): Promise<void>
  stop?(): Promise<void>
}

/** Answers the body. `record` appends a change by the caller to the audit log. */
export type OperatorHandler = (
  call: Call<Principal>,
  record: (action: EventAction, object: string, before: unknown, after: unknown) => Promise<void>,
) => Promise<unknown>

/** A room in the table of rooms. */
export interface PaidRoomRow {
  readonly open: (ports: RoomPorts) => PaidRoom
  /** Its routes for customers' programs, for the reference. */
  readonly docs: Readonly<Record<string, WireRoute>>
}

/** A request that may continue earlier ones, and whose answer may be kept. */
export interface KeptRequest {
  readonly operation: Operation
  /** The earlier items of the conversation, which the provider's words may repeat. */
  readonly earlier: readonly unknown[]
  /** null = the answer is only sent. Throws an ApiError if nothing is kept on this service. */
  readonly keeperOf: () => AnswerKeeper | null
  /** Answers the request without a provider, free of charge; null = it is a paid request. */
  readonly answer: (() => typeof HIJACKED) | null
}

/** Reads the requests of a type. */
export interface RequestReader {
  readonly body: 'json' | 'json-or-multipart'
  /** The most files in a form; absent = one. */
  readonly filesMax?: number
  /** Whether requests may come as messages of a WebSocket. */
  readonly turns?: true
  /** The protocol in whose form errors are written; absent = the path decides. */
  readonly protocol?: ClientProtocol
  /** Throws an ApiError. Asynchronous if it must read the length of a sound, or answers that are continued. */
  read(input: ClientInput, call: Call<Principal>): Operation | Promise<Operation | KeptRequest>
}

/** One paid kind: its routes and the reader of its requests. */
export interface PaidKind extends RequestReader {
  readonly paths: readonly string[]
}
