/** A client's end of a stream, as the relay sees it: the socket's own workings stay at the edge. */
export interface Reader {
  /** Sends whole SSE events; false asks for a pause until `Generation.drained` is called. */
  write(bytes: Buffer): boolean
  /** Sends the last events and ends the body cleanly. */
  end(bytes: Buffer): void
  /** Breaks the connection, so that no client takes a cut answer for a whole one (wire.md F2). */
  reset(): void
}
