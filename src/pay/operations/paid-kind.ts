import type { Principal } from '../../access/principal.ts'
import type { ClientProtocol } from '../../base/client-protocol.ts'
import type { Call, HIJACKED } from '../../http/edge.ts'
import type { ClientInput } from '../../protocols/ports/client-call.ts'
import type { AnswerKeeper } from '../relay/generation-input.ts'
import type { Operation } from '../relay/operation.ts'

/** A request that may continue others, and whose answer may be kept. */
export interface KeptRequest {
  readonly operation: Operation
  /** Items that came before: its provider's words may repeat them. */
  readonly earlier: readonly unknown[]
  /** null = its answer is only sent. Throws an ApiError if nothing is kept here. */
  readonly keeperOf: () => AnswerKeeper | null
  /** Answers it without a provider, at no price; null = it is to be paid for. */
  readonly answer: (() => typeof HIJACKED) | null
}

/** Reads the requests of a type. */
export interface RequestReader {
  readonly body: 'json' | 'json-or-multipart'
  /** The most files in a form; absent = one. */
  readonly filesMax?: number
  /** They may come as messages of a WebSocket. */
  readonly turns?: true
  /** The format of its errors; absent = decided by the path. */
  readonly protocol?: ClientProtocol
  /** Throws an ApiError. It takes time to read the length of a sound, and what a request continues. */
  read(input: ClientInput, call: Call<Principal>): Operation | Promise<Operation | KeptRequest>
}

/** One paid kind: its routes and the reader of its requests. */
export interface PaidKind extends RequestReader {
  readonly paths: readonly string[]
}
