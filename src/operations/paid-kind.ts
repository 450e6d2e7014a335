import type { IncomingHttpHeaders } from 'node:http'
import type { ClientProtocol } from '../base/client-protocol.ts'
import type { UploadedForm } from '../kinds/fields/uploaded-form.ts'
import type { ResponsesDoor } from '../protocols/responses/client/request.ts'
import type { JsonMember } from '../base/json-scan.ts'
import type { Operation } from '../pay/relay/operation.ts'

/** The input from which an operation is read. */
export interface OperationInput {
  /** The parsed body, always an object; undefined where it is multipart. */
  readonly json: unknown
  /** The body's bytes. */
  readonly rawBody: Buffer
  /** A member of a JSON body as the bytes that came; null unless it occurs exactly once. */
  jsonMember(name: string): JsonMember | null
  readonly contentType: string
  /** Parameters of the route's path, and the query, parsed when asked for. */
  readonly params: Readonly<Record<string, string>>
  readonly query: () => URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** The parsed multipart body; null for JSON. */
  readonly form: UploadedForm | null
  /** From the `X-Session-Id` header; the body's own takes precedence. */
  readonly sessionId: string | null
  /** Facts about a Responses request that its route knows and its body does not say. */
  readonly door: ResponsesDoor
  /** As in `X-Request-Id`. */
  readonly requestId: string
  /** The service's address for the client, used in links; without a trailing slash. */
  readonly publicUrl: string
}

/** Reads the requests of a type. */
export interface RequestReader {
  readonly body: 'json' | 'json-or-multipart'
  /** The most files in a form; absent = one. */
  readonly filesMax?: number
  /** A request may continue the conversation of a stored answer. */
  readonly continues?: true
  /** The format of its errors; absent = decided by the path. */
  readonly protocol?: ClientProtocol
  /** Throws an ApiError. */
  read(input: OperationInput): Operation
}

/** One paid kind: its routes and the reader of its requests. */
export interface PaidKind extends RequestReader {
  readonly paths: readonly string[]
}

/** The session in a header; null if it is absent or no honest name. */
export function sessionOf(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && /^[\x21-\x7e]{1,256}$/.test(header) ? header : null
}

/** Takes the session from the header when the body has none: it is logged and keeps a conversation at one provider. */
export function withSession<Request extends { readonly sessionId: string | null }>(
  request: Request,
  sessionId: string | null,
): Request {
  return request.sessionId === null && sessionId !== null ? { ...request, sessionId } : request
}
