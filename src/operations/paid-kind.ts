import type { IncomingHttpHeaders } from 'node:http'
import type { ClientProtocol } from '../client-protocol.ts'
import type { UploadedForm } from '../kinds/fields/uploaded-form.ts'
import type { ResponsesDoor } from '../kinds/responses/request.ts'
import type { JsonMember } from '../lib/json-scan.ts'
import type { Operation } from '../relay/operation.ts'

/** What an operation is read from. */
export interface OperationInput {
  /** The parsed body, always an object; undefined where it is multipart. */
  readonly json: unknown
  /** The body's bytes. */
  readonly rawBody: Buffer
  /** A member of a JSON body as it came; null where it is not there once. */
  jsonMember(name: string): JsonMember | null
  readonly contentType: string
  /** Parameters of the route's path, and the query. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** A multipart body, read; null where it is JSON. */
  readonly form: UploadedForm | null
  /** Of the `X-Session-Id` header; the body's own wins. */
  readonly sessionId: string | null
  /** What the route of a Responses request knows beside its body. */
  readonly door: ResponsesDoor
  /** As in `X-Request-Id`. */
  readonly requestId: string
  /** Where the client reaches this service, for addresses in an answer; without a trailing slash. */
  readonly publicUrl: string
}

/** How requests of a type are read. */
export interface RequestReader {
  readonly body: 'json' | 'json-or-multipart'
  /** The most files of a form; absent = one. */
  readonly filesMax?: number
  /** A request may continue the conversation of an answer that is kept. */
  readonly continues?: true
  /** How its errors are written; absent = as the path says. */
  readonly protocol?: ClientProtocol
  /** Throws an ApiError. */
  read(input: OperationInput): Operation
}

/** One paid kind: its routes, and how its requests are read. */
export interface PaidKind extends RequestReader {
  readonly paths: readonly string[]
}

/** A header that names the session; null where it is absent or no honest name. */
export function sessionOf(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && /^[\x21-\x7e]{1,256}$/.test(header) ? header : null
}

/** The header says the session where the body does not: it is logged and keeps a conversation at one provider. */
export function withSession<Request extends { readonly sessionId: string | null }>(
  request: Request,
  sessionId: string | null,
): Request {
  return request.sessionId === null && sessionId !== null ? { ...request, sessionId } : request
}
