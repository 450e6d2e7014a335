import type { Principal } from '../../access/principal.ts'
import type { ClientProtocol } from '../../base/client-protocol.ts'
import type { Call, HIJACKED } from '../../http/edge.ts'
import type { ClientInput } from '../../protocols/ports/client-call.ts'
import type { AnswerKeeper } from '../relay/generation-input.ts'
import type { Operation } from '../relay/operation.ts'

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
