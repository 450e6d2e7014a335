import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { patient } from '../harness/patience.ts'
import { exchangeRaw, isWhole, parseRaw, pump } from '../harness/raw-http.ts'
import { startTollgate } from '../harness/server.ts'
import { lasting } from '../harness/lasting.ts'

/** A body is read only after key, address, rate and account (guarantees.md requirement 26). */
const BODY_BYTES = 10_485_760
const CONNECTIONS = 80
const ROUNDS = 3
const SENT_BYTES = ROUNDS * CONNECTIONS * BODY_BYTES
/**
 * 64 KiB each, and garbage not collected yet: its size grows with the speed of the machine, not with the bytes sent.
 */
const GROWTH_BYTES_MAX = CONNECTIONS * 65_536 + 256 * 1_048_576

const tollgate = await lasting(
  startTollgate({ catalog: '{ ip_block: { failures: 100000, window: 60, duration: 1 } }' }),
)
const port = Number(new URL(tollgate.url).port)

function head(path: string, credential: string, length: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\n${credential}Content-Type: application/json\r\n${length}\r\n\r\n`
}

function residentBytes(): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${tollgate.pid}/status`, 'utf8'))?.[1]) * 1_024
}

const STRANGERS = ['', 'Authorization: Bearer nonsense\r\n', `Authorization: Bearer sk-tg-${'A'.repeat(38)}\r\n`]

test('a stranger is answered before a byte of the body has come', async () => {
  for (const path of [
    '/v1/chat/completions',
    '/v1/audio/transcriptions',
    '/v1/videos',
    '/admin/v1/accounts',
    '/cabinet/v1/profile',
    '/v1/nowhere',
  ]) {
    for (const credential of STRANGERS) {
      for (const length of [
        `Content-Length: ${BODY_BYTES}`,
        'Transfer-Encoding: chunked',
        'Content-Length: 99999999999',
      ]) {
        const startedMs = performance.now()
        const { status } = parseRaw(await exchangeRaw(port, head(path, credential, length), { until: isWhole }))
        assert.ok([401, 403, 404, 405].includes(status), `${path} ${credential} ${length}: ${status}`)
        assert.ok(performance.now() - startedMs < patient(1_500))
      }
    }
  }
})

test(`${CONNECTIONS} bodies of 10 MB with a bad key at once, ${ROUNDS} times over: their senders see the 401, and the server keeps none of them`, async (t) => {
  const beforeBytes = residentBytes()
  const chunk = Buffer.alloc(262_144, 0x20)
  let worst = 0
  const watch = setInterval(() => {
    worst = Math.max(worst, residentBytes() - beforeBytes)
  }, 10)
  for (let round = 0; round < ROUNDS; round += 1)
    await Promise.all(
      Array.from({ length: CONNECTIONS }, (_value, index) =>
        sendWhole(STRANGERS[index % STRANGERS.length] ?? '', chunk),
      ),
    )
  clearInterval(watch)
  t.diagnostic(`grew by ${Math.round(worst / 1_048_576)} MiB for ${SENT_BYTES / 1_048_576} MiB sent`)
  assert.ok(worst <= GROWTH_BYTES_MAX, `${worst} bytes`)
})

/** Sends a whole body without stopping at the answer, which must have arrived when the connection is closed. */
async function sendWhole(credential: string, chunk: Buffer): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data.toString()))
  socket.on('error', () => undefined)
  socket.write(head('/v1/chat/completions', credential, `Content-Length: ${BODY_BYTES}`))
  await pump(socket, chunk, BODY_BYTES / chunk.length)
  if (!socket.closed) await once(socket, 'close')
  assert.equal(parseRaw(text).status, 401)
}
