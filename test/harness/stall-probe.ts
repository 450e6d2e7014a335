import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Loaded into a server (`--import`): measures how much CPU time its main thread used between two ticks of a timer. It
 * is the thread's own CPU time, so other processes of a busy machine do not count. `GET /` returns the longest such
 * time since the last request, in ms.
 */
const LOOK_MS = 2

let before = process.threadCpuUsage()
let worstMs = 0

function look(): void {
  const { user, system } = process.threadCpuUsage(before)
  before = process.threadCpuUsage()
  worstMs = Math.max(worstMs, (user + system) / 1_000)
}

setInterval(look, LOOK_MS).unref()
const server = createServer((_request, response) => {
  look()
  response.end(String(worstMs))
  worstMs = 0
})
server.listen(0, '127.0.0.1', () => {
  // A TCP server's address is an object.
  process.stderr.write(`stall probe on ${(server.address() as AddressInfo).port}\n`)
})
server.unref()
