/** The request that a protocol sends to a provider. */
export interface UpstreamRequest {
  /** The path after the provider's base address. */
  readonly path: string
  /** An object is sent as JSON. */
  readonly body: Buffer | Readonly<Record<string, unknown>>
  /**
   * Credentials and versions, beside `content-type` (JSON) and `accept`. A provider whose requests are signed has a
   * function from the body's bytes.
   */
  readonly headers: Readonly<Record<string, string>> | ((body: Buffer) => Readonly<Record<string, string>>)
}

/** A request whose body is JSON. */
export interface JsonRequest extends UpstreamRequest {
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * The provider's protocol cannot express a part of the request. Another provider may. If none can, the client gets a
 * 400 and pays nothing.
 */
export class UnsendableError extends Error {
  override readonly name = 'UnsendableError'
}

/** For a protocol without several answers to a request. */
export function refuseSeveral({ n }: { readonly n: number }): void {
  if (n > 1) throw new UnsendableError('n: this provider gives one answer to a request')
}

/**
 * A name that a client or a provider gave, as one part of a path. `.` and `..` would ask for another address, in any
 * spelling; theirs becomes one that no provider knows.
 */
export function pathPart(name: string): string {
  return /^\.{1,2}$/.test(name) ? name.replaceAll('.', '%252E') : encodeURIComponent(name)
}
