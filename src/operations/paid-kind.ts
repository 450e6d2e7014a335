import type { UploadedForm } from '../kinds/fields/uploaded-form.ts'
import type { Operation } from '../relay/operation.ts'

/** What an operation is read from. */
export interface OperationInput {
  /** The parsed body, always an object; undefined where it is multipart. */
  readonly json: unknown
  /** The body's bytes. */
  readonly rawBody: Buffer
  readonly contentType: string
  /** A multipart body, read; null where it is JSON. */
  readonly form: UploadedForm | null
  /** Of the `X-Session-Id` header; the body's own wins. */
  readonly sessionId: string | null
  /** Where the client reaches this service, for addresses in an answer; without a trailing slash. */
  readonly publicUrl: string
}

/** How requests of a type are read. */
export interface RequestReader {
  readonly body: 'json' | 'json-or-multipart'
  /** Throws an ApiError. */
  read(input: OperationInput): Operation
}

/** One paid kind: its routes, and how its requests are read. */
export interface PaidKind extends RequestReader {
  readonly paths: readonly string[]
}

/** The header says the session where the body does not: it is logged and keeps a conversation at one provider. */
export function withSession<Request extends { readonly sessionId: string | null }>(
  request: Request,
  sessionId: string | null,
): Request {
  return request.sessionId === null && sessionId !== null ? { ...request, sessionId } : request
}
