import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Provider } from '../../catalog/catalog.ts'
import { PLAIN_DIALECT } from '../../catalog/dialect.ts'
import { systemClock } from '../../base/clock.ts'
import { PROVIDER_TIMEOUTS } from '../../tables/settings-table.ts'
import { Transport, type SentRequest } from './transport.ts'
import { lasting } from '../../../test/harness/lasting.ts'

/** As many bytes as one read of a socket returns, so that the last byte comes with the pause. */
const SMALL = Buffer.alloc(60_000, 'a')
const LARGE = Buffer.alloc(3_000_000, 'b')
/** The turns of the loop to wait: the other end is in this process, so its end is seen within them. */
const PAUSE_TURNS = 100

const transport = await lasting(new Transport(systemClock))

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn()
}

interface Told {
  readonly bytes: number
  readonly end: string
}

/** Asks a provider that writes raw bytes, as a client that pauses after each of the first `pauses` reads. */
async function asked(
  answer: (socket: Socket) => void,
  pauses: number,
  streaming: boolean,
  told: (bytes: number) => void = () => undefined,
): Promise<Told> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => answer(socket))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The address of a TCP server is an object.
  const { port } = server.address() as AddressInfo
  const provider = {
    baseUrl: `http://127.0.0.1:${port}`,
    timeouts: PROVIDER_TIMEOUTS,
    dialect: PLAIN_DIALECT,
  } as Provider
  let bytes = 0
  let waits = 0
  let waiting = false
  const end = await new Promise<string>((resolve) => {
    const sent: SentRequest = transport.send(
      { provider, path: '/x', body: Buffer.from('{}'), headers: {}, streaming },
      {
        headers: () => undefined,
        push: (part) => {
          assert.ok(!waiting, 'nothing is told while somebody waits')
          bytes += part.length
          told(bytes)
          if (waits >= pauses) return true
          waits += 1
          waiting = true
          void turns(PAUSE_TURNS).then(() => {
            waiting = false
            sent.resume()
          })
          return false
        },
        end: () => resolve(waiting ? 'whole, while somebody waits' : 'whole'),
        fail: ({ reason }) => resolve(reason),
        isComplete: () => false,
      },
    )
  })
  server.close()
  return { bytes, end }
}

const head = (...lines: readonly string[]): string =>
  `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
const length = (body: Buffer): string => `content-length: ${body.length}`
const CLOSE = 'connection: close'
const CHUNKED = 'transfer-encoding: chunked'
const chunk = (body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')])

const ENDS: readonly (readonly [what: string, end: string, answer: (socket: Socket, body: Buffer) => void])[] = [
  ['with its length', 'whole', (socket, body) => void (socket.write(head(length(body))), socket.end(body))],
  [
    'with its length, told to close',
    'whole',
    (socket, body) => void (socket.write(head(length(body), CLOSE)), socket.end(body)),
  ],
  ['without a length', 'whole', (socket, body) => void (socket.write(head(CLOSE)), socket.end(body))],
  [
    'in chunks',
    'whole',
    (socket, body) => void (socket.write(head(CHUNKED)), socket.write(chunk(body)), socket.end('0\r\n\r\n')),
  ],
  [
    'in chunks, told to close',
    'whole',
    (socket, body) => void (socket.write(head(CHUNKED, CLOSE)), socket.write(chunk(body)), socket.end('0\r\n\r\n')),
  ],
  ['in chunks without an end', 'cut', (socket, body) => void (socket.write(head(CHUNKED)), socket.end(chunk(body)))],
  [
    'in chunks without an end, told to close',
    'cut',
    (socket, body) => void (socket.write(head(CHUNKED, CLOSE)), socket.end(chunk(body))),
  ],
  [
    'shorter than its length',
    'cut',
    (socket, body) => void (socket.write(head('content-length: 9000000')), socket.end(body)),
  ],
  [
    'shorter than its length, told to close',
    'cut',
    (socket, body) => void (socket.write(head('content-length: 9000000', CLOSE)), socket.end(body)),
  ],
]

for (const [what, end, answer] of ENDS)
  test(`every byte of an answer ${what} is told, also when its provider closes while somebody waits`, async () => {
    for (const [body, pauses] of [
      [SMALL, 0],
      [SMALL, 1],
      [SMALL, 100],
      [LARGE, 0],
      [LARGE, 3],
    ] as const)
      for (const streaming of [false, true])
        assert.deepEqual(await asked((socket) => answer(socket, body), pauses, streaming), { bytes: body.length, end })
  })

/** The most bytes of an answer in all buffers of its connection to the provider (guarantees.md F41). */
const BUFFERED_BYTES_MAX = 262_144

test('F41: an answer of which somebody takes a piece at a time is never taken in further than its bound', async () => {
  const sockets: Socket[] = []
  const connected = (message: unknown): void => void sockets.push((message as { readonly socket: Socket }).socket)
  subscribe('undici:client:connected', connected)
  const EVENT = Buffer.alloc(60, 'e')
  const events = Buffer.concat(Array.from({ length: 50_000 }, () => chunk(EVENT)))
  for (const [framing, sent, bodyBytes, streaming] of [
    [CHUNKED, Buffer.concat([events, Buffer.from('0\r\n\r\n')]), 50_000 * EVENT.length, true],
    [length(LARGE), LARGE, LARGE.length, true],
    [length(LARGE), LARGE, LARGE.length, false],
  ] as const) {
    let bufferedBytes = 0
    const told = (bytes: number): void => {
      const readBytes = sockets.at(-1)?.bytesRead ?? 0
      bufferedBytes = Math.max(bufferedBytes, readBytes - (bytes * sent.length) / bodyBytes)
    }
    const answer = await asked((socket) => (socket.write(head(framing)), socket.end(sent)), Infinity, streaming, told)
    assert.deepEqual(answer, { bytes: bodyBytes, end: 'whole' })
    assert.ok(bufferedBytes > 0 && bufferedBytes < BUFFERED_BYTES_MAX, `${bufferedBytes} bytes`)
  }
  unsubscribe('undici:client:connected', connected)
})

test('events that a provider sends at once are told together', async () => {
  const events = Array.from({ length: 100 }, (_value, index) => Buffer.from(`event ${index}\n\n`))
  const together = Buffer.concat(events.map(chunk))
  let tellings = 0
  const { bytes, end } = await asked(
    (socket) => socket.write(Buffer.concat([Buffer.from(head(CHUNKED)), together]), () => socket.end('0\r\n\r\n')),
    0,
    true,
    () => (tellings += 1),
  )
  assert.deepEqual([bytes, end], [Buffer.concat(events).length, 'whole'])
  assert.equal(tellings, 1)
})

test('a connection that is reset while somebody waits is an answer that was cut, and no more', async () => {
  for (const lines of [[length(LARGE)], [length(LARGE), CLOSE], [CLOSE], [CHUNKED, CLOSE]]) {
    let reset = (): void => undefined
    const answer = (socket: Socket): void => {
      reset = () => void socket.resetAndDestroy()
      socket.write(head(...lines))
      socket.write(lines.includes(CHUNKED) ? chunk(SMALL) : SMALL)
    }
    const { end } = await asked(answer, 100, lines.includes(CHUNKED), () => reset())
    assert.equal(end, 'cut')
  }
})
