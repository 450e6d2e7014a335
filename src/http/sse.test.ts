import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { movingClock } from '../../test/harness/moving-clock.ts'
import { SseStreams, type SseStream } from './sse.ts'
import { until } from '../../test/harness/patience.ts'

interface Bench {
  readonly streams: SseStreams
  readonly clock: ReturnType<typeof movingClock>
  readonly socket: Socket
  readonly stream: SseStream
  readonly events: string[]
}

/** Counts the bytes that wait for clients. */
class Room {
  bytes = 0
  isWanted = false

  unsent(bytes: number): () => void {
    this.bytes += bytes
    return () => {
      this.bytes -= bytes
    }
  }
}

interface Client {
  readonly clock: Bench['clock']
  readonly server: Server
  readonly socket: Socket
}

/** A client over a real socket, which reads nothing until the test asks it to. */
async function dial(context: TestContext): Promise<Client> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A listening TCP server has an address object.
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  context.after(() => {
    socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  return { clock: movingClock(), server, socket }
}

/** The answer to the client's next request. */
async function ask({ server, socket }: Client): Promise<ServerResponse> {
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  return response
}

function streamOn(response: ServerResponse, { clock, socket }: Client, room = new Room()): Bench {
  const streams = new SseStreams(clock, room)
  const events: string[] = []
  const stream = streams.open(
    response,
    { 'x-request-id': 'r', 'cache-control': 'no-store' },
    { drained: () => events.push('drain'), detached: () => events.push('close') },
  )
  return { streams, clock, socket, stream, events }
}

/** One client with an open stream. */
async function open(context: TestContext, room?: Room): Promise<Bench> {
  const client = await dial(context)
  return streamOn(await ask(client), client, room)
}

async function textUntilEnd(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
  while (!text.includes('0\r\n\r\n')) await once(socket, 'data')
  return text
}

test('D-3.3: the head of a stream leaves once with its first bytes, and a clean end is no close', async (context) => {
  const { stream, socket, events, streams } = await open(context)
  assert.equal(stream.write(': PROCESSING\n\n'), true)
  stream.end(Buffer.from('data: [DONE]\n\n'))
  assert.equal(stream.write('data: late\n\n'), true)
  const text = await textUntilEnd(socket)
  assert.match(
    text,
    /^HTTP\/1.1 200 OK\r\nx-request-id: r\r\ncache-control: no-cache\r\ncontent-type: text\/event-stream; charset=utf-8\r\nx-accel-buffering: no\r\n/,
  )
  assert.match(text, /: PROCESSING\n\n[^]*data: \[DONE\]\n\n/)
  assert.equal(text.includes('late'), false)
  socket.destroy()
  await until(10_000, 'it is let go of', () => streams.size === 0)
  assert.deepEqual(events, [])
})

test('F41: write answers false to a slow reader, and drain follows when it has read', async (context) => {
  const { stream, socket, events } = await open(context)
  while (stream.write(Buffer.alloc(65_536, 0x20)));
  assert.deepEqual(events, [])
  socket.resume()
  await until(10_000, 'what the reader did is told', () => events.length > 0)
  assert.deepEqual(events, ['drain'])
})

test('F41: a reader that takes nothing for 60 s is reset, once told to the owner', async (context) => {
  const { stream, socket, events, clock, streams } = await open(context)
  // More than the kernel buffers on both sides, so that bytes stay with us.
  while (stream.write(Buffer.alloc(8_388_608, 0x20)));
  clock.advance(55_000)
  assert.equal(stream.closed, false)
  clock.advance(10_000)
  await until(10_000, 'its owner is told', () => events.length > 0)
  assert.deepEqual([stream.closed, events, streams.size], [true, ['close'], 0])
  assert.equal(stream.write('x'), true)
  stream.end()
  socket.destroy()
})

/** More than the kernel buffers on both sides. */
const LONG = Buffer.alloc(24 * 1_048_576, 0x20)

/** Reads exactly so many bytes. */
function sip(socket: Socket, bytes: number): Promise<void> {
  let left = bytes
  return new Promise((resolve) => {
    const take = (piece: Buffer): void => {
      left -= piece.length
      if (left > 0) return
      socket.pause().off('data', take)
      resolve()
    }
    socket.on('data', take).resume()
  })
}

for (const [what, send] of [
  ['the last bytes', (stream: SseStream): unknown => stream.end(LONG)],
  ['bytes before them', (stream: SseStream): unknown => [stream.write(LONG), stream.end('the end')]],
] as const) {
  test(`F41: ${what} of a stream, if many, go in pieces: a slow client keeps it, and they count until they are sent`, async (context) => {
    const room = new Room()
    const { stream, socket, clock } = await open(context, room)
    send(stream)
    assert.ok(room.bytes >= LONG.length)
    for (let turn = 0; turn < 3; turn += 1) {
      clock.advance(50_000)
      // The client takes some bytes within each minute; the server sees that only at its next sweep.
      await sip(socket, 4 * 1_048_576)
      for (let look = 0; look < 3; look += 1) await new Promise(setImmediate)
      assert.equal(stream.closed, false)
    }
    let text = 0
    socket.on('data', (piece) => (text += piece.length)).resume()
    await until(10_000, 'all has come', () => text > LONG.length - 13 * 1_048_576 && room.bytes === 0)
  })

  test(`F41: ${what} of a stream that its client takes too slowly are let go of while others wait for the memory`, async (context) => {
    const room = new Room()
    const { stream, socket, clock, events } = await open(context, room)
    send(stream)
    for (let turn = 0; turn < 4; turn += 1) {
      clock.advance(50_000)
      await sip(socket, 3 * 1_048_576)
      for (let look = 0; look < 3; look += 1) await new Promise(setImmediate)
    }
    assert.equal(stream.closed, false, 'nobody waits for its room')
    room.isWanted = true
    clock.advance(10_000)
    await until(10_000, 'its owner is told', () => events.length > 0)
    assert.deepEqual([stream.closed, room.bytes], [true, 0])
  })
}

test('F41: a stream that waits for 60 s behind another answer of its connection is let go of, and has no socket to watch', async (context) => {
  const client = await dial(context)
  const first = await ask(client)
  const response = await ask(client)
  const { stream, events, clock, streams } = streamOn(response, client)
  while (stream.write(Buffer.alloc(65_536, 0x20)));
  clock.advance(55_000)
  assert.deepEqual([response.socket, first.socket?.writableLength, stream.closed], [null, 0, false])
  clock.advance(10_000)
  await until(10_000, 'its owner is told', () => events.length > 0)
  assert.deepEqual([stream.closed, events, streams.size, first.destroyed], [true, ['close'], 0, false])
})

test('a stream that keeps up is never taken for stalled, however long it is silent', async (context) => {
  const { stream, socket, clock } = await open(context)
  socket.resume()
  stream.write('data: 1\n\n')
  clock.advance(600_000)
  assert.equal(stream.closed, false)
})

test('reset breaks the connection, and the end of the client is reported', async (context) => {
  const first = await open(context)
  first.stream.write('data: 1\n\n')
  await once(first.socket, 'data')
  first.stream.reset()
  // `once` would reject with the error that is expected here.
  const hadError = await new Promise((resolve) => first.socket.on('close', resolve))
  assert.equal(hadError, true)
  const second = await open(context)
  second.stream.write('data: 1\n\n')
  second.socket.destroy()
  await until(10_000, 'what the reader did is told', () => second.events.length > 0)
  assert.deepEqual([second.events, second.streams.size], [['close'], 0])
})
