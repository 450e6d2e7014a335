import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { UnreadMessages } from './turn-sockets.ts'
import { lasting } from '../../test/harness/lasting.ts'

const MESSAGE = Buffer.alloc(16_384, 'x')
const UNREAD_BYTES_MAX = 131_072

const server = await lasting(new WebSocketServer({ port: 0, host: '127.0.0.1' }))
await once(server, 'listening')

interface Pair {
  readonly client: WebSocket
  readonly unread: UnreadMessages
  /** Waits for the next pong; returns whether it had one of the marks. */
  readonly answer: () => Promise<boolean>
}

async function pair(): Promise<Pair> {
  const accepted = once(server, 'connection') as Promise<[WebSocket]>
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [socket] = await accepted
  if (client.readyState !== WebSocket.OPEN) await once(client, 'open')
  const unread = new UnreadMessages(socket)
  const answers: boolean[] = []
  let wake = (): void => undefined
  socket.on('pong', (mark) => {
    answers.push(unread.answered(mark))
    wake()
  })
  const answer = async (): Promise<boolean> => {
    if (answers.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    return answers.shift() === true
  }
  return { client, unread, answer }
}

/** The number of messages that are sent before the client must read some. */
async function sentUntilPause(unread: UnreadMessages): Promise<{ count: number; more: Promise<void> }> {
  for (let count = 1; ; count += 1) {
    unread.send(MESSAGE)
    let isRead = false
    const more = new Promise<void>((resolve) =>
      unread.whenRead(() => {
        isRead = true
        resolve()
      }),
    )
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    if (!isRead) return { count, more }
    assert.ok(count < 100)
  }
}

test('F41: a client that does not read is sent no more than the bound and a message, until it reads', async () => {
  const { client, unread } = await pair()
  let received = 0
  client.on('message', () => (received += 1))
  client.pause()
  const { count, more } = await sentUntilPause(unread)
  assert.ok(count * MESSAGE.length <= UNREAD_BYTES_MAX + MESSAGE.length, `${count}`)
  client.resume()
  await more
  client.terminate()
  assert.ok(received > 0)
})

test('only the answer to a mark counts: a pong that nobody asked for, or one sent again, frees nothing', async () => {
  const { client, unread, answer } = await pair()
  const marks: Buffer[] = []
  client.on('ping', (mark: Buffer) => marks.push(mark))
  // As many messages as cause the first ping.
  for (let sent = 0; sent < UNREAD_BYTES_MAX / 2; sent += MESSAGE.length) unread.send(MESSAGE)
  assert.equal(await answer(), true)
  client.pong(marks[0])
  client.pong(Buffer.alloc(0))
  client.pong('12345678')
  assert.deepEqual([await answer(), await answer(), await answer()], [false, false, false])
  client.terminate()
})
