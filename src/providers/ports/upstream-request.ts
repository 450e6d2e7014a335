/** What a protocol sends to a provider. */
export interface UpstreamRequest {
  /** After the provider's base address. */
  readonly path: string
  /** An object is sent as JSON. */
  readonly body: Buffer | Readonly<Record<string, unknown>>
  /**
   * Credentials and versions. The content type (JSON) and `accept` are there already. A function makes them from the
   * body's bytes, for a provider whose requests are signed.
   */
  readonly headers: Readonly<Record<string, string>> | ((body: Buffer) => Readonly<Record<string, string>>)
}

/** A request whose body is JSON. */
export interface JsonRequest extends UpstreamRequest {
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * The request holds something that the provider's protocol cannot express. Another provider may take it. If none does,
 * the client gets a 400 and pays nothing.
 */
export class UnsendableError extends Error {
  override readonly name = 'UnsendableError'
}
