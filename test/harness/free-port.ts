import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Ports that no outgoing connection gets: Linux gives those from 32,768 up. */
const LOWEST = 10_000
const HIGHEST = 32_000
const TRIES = 100

/** A port of 127.0.0.1 that nobody listens on, for a program that has to be told one. */
export async function freePort(): Promise<number> {
  for (let turn = 1; ; turn += 1) {
    const port = randomInt(LOWEST, HIGHEST)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
      server.close()
      await once(server, 'close')
      return port
    } catch (failure) {
      if (turn === TRIES) throw failure
    }
  }
}
