import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Sends bytes as the client takes them, and ends the body; resolves too when the client has left, or was cut off since
 * it does not read (`slow-readers.ts`). Throws what the source throws: half a file must not look complete.
 */
export async function sendBytes(
  response: ServerResponse,
  bytes: AsyncIterable<Buffer | string> | Iterable<Buffer>,
): Promise<void> {
  for await (const piece of bytes) {
    if (response.destroyed) return
    if (!response.write(piece)) await drained(response)
    // A client that reads fast, and a source that waits for nothing, would hold up everybody else.
    await nextTurn()
  }
  response.end()
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve()
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })
}
