import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { request } from 'undici'
import { recordedCase, recordedCases, type Exchange } from '../harness/recording.ts'
import { bodyToSend, eventEnds, piecesOf, type ReplayOptions, startReplayUpstream } from '../harness/replay.ts'
import { documentsOf } from './documents.ts'

const SPELLINGS: readonly ReplayOptions[] = [
  { crlf: 1 },
  { cr: 1 },
  { nospace: 1 },
  { comments: 1 },
  { multiline: 1 },
  { tail: 'none' },
  { crlf: 1, nospace: 1, multiline: 1, comments: 1 },
]
const CUTS: readonly ReplayOptions[] = [
  {},
  { split: 'whole' },
  { split: 'line' },
  { split: 'bytes:7' },
  { split: 'random', seed: 3, max: 9 },
]
const STREAM = recordedCase('mistral/chat/mistralai-streaming-chat-with-events-with-content')
const PLAIN = recordedCase('mistral/chat/mistralai-chat-with-cache-tokens')
const FILM = recordedCase('xai/videos/grok-imagine-create-poll-download')

const exchanges: readonly Exchange[] = recordedCases().flatMap((recorded) =>
  recorded.steps.length > 0 ? recorded.steps : [recorded],
)

const replay = await startReplayUpstream()

test('another spelling of a stream says the same', () => {
  const streams = exchanges.filter(
    ({ framing, body }) => framing === 'sse' && documentsOf({ ...STREAM, body }).length > 0,
  )
  assert.ok(streams.length > 60)
  for (const stream of streams) {
    for (const spelling of SPELLINGS)
      assert.deepEqual(
        documentsOf({ ...stream, body: bodyToSend(stream, spelling) }),
        documentsOf(stream),
        JSON.stringify(spelling),
      )
    assert.ok(bodyToSend(stream, {}).equals(stream.body), 'the bytes as recorded')
    assert.deepEqual([...bodyToSend(stream, { bom: 1 }).subarray(0, 3)], [0xef, 0xbb, 0xbf])
  }
})

test('the pieces of a body add up to it, and events end where they end', () => {
  for (const { body, framing } of exchanges.filter((exchange) => exchange.body.length < 50_000)) {
    const ends = eventEnds(body, framing)
    assert.equal(ends.at(-1), body.length)
    for (const options of CUTS)
      assert.ok(Buffer.concat(piecesOf(body, ends, options)).equals(body), JSON.stringify(options))
  }
})

async function asked(
  opts: ReplayOptions,
  recorded = STREAM,
): Promise<{ readonly status: number; readonly body: Buffer; readonly headers: Readonly<Record<string, unknown>> }> {
  await replay.slot('s', [{ case: recorded.name, opts }])
  const { statusCode, body, headers } = await request(`${replay.url}/slot/s/v1/chat/completions?a=b`, {
    method: 'POST',
    body: '{"model":"m"}',
  })
  return { status: statusCode, body: Buffer.from(await body.arrayBuffer()), headers }
}

describe('on a socket', () => {
  test('a recorded answer has its status and headers, however it is cut, and the request is remembered', async () => {
    for (const opts of CUTS) assert.ok((await asked(opts)).body.equals(STREAM.body), JSON.stringify(opts))
    const { status, headers, body } = await asked({ status: 429, 'retry-after': 7 }, PLAIN)
    assert.deepEqual(
      [status, headers['retry-after'], headers['content-length'], headers['content-type']],
      [429, '7', String(PLAIN.body.length), PLAIN.headers['content-type']],
    )
    assert.ok(body.equals(PLAIN.body))
    assert.equal((await asked({ chunked: 1 }, PLAIN)).headers['content-length'], undefined)
    assert.equal((await asked({ gzip: 1 }, PLAIN)).headers['content-encoding'], 'gzip')
    assert.deepEqual(
      [(await asked({ body: 'empty' }, PLAIN)).body.length, (await asked({ body: 'html' })).headers['content-type']],
      [0, 'text/html'],
    )
    const last = (await replay.requests()).at(-1)
    assert.deepEqual(
      [last?.case, last?.method, last?.path, last?.json],
      [STREAM.name, 'POST', '/v1/chat/completions?a=b', { model: 'm' }],
    )
  })

  test('a cut ends after so many events, with a reset or as if it were whole; a stall and a hang keep the connection', async () => {
    const four = STREAM.body.subarray(0, eventEnds(STREAM.body, 'sse')[3])
    assert.ok((await asked({ cut: 'events:4', cutmode: 'fin' })).body.equals(four))
    await assert.rejects(asked({ cut: 'events:4' }), /other side closed|terminated|aborted/i)
    await replay.slot('s', [{ case: STREAM.name, opts: { stall: 'events:4' } }])
    const { body } = await request(`${replay.url}/slot/s`, { method: 'POST' })
    let seen = Buffer.alloc(0)
    for await (const chunk of body) {
      seen = Buffer.concat([seen, chunk])
      if (seen.length >= four.length) break
    }
    assert.ok(seen.equals(four))
    await replay.slot('s', [{ case: STREAM.name, opts: { hang: 1 } }])
    await assert.rejects(request(`${replay.url}/slot/s`, { method: 'POST', headersTimeout: 50 }), /Headers Timeout/)
  })

  test('a queue is answered in order and its last answer stays; an address without a case is no answer of a provider', async () => {
    await replay.slot('q', [{ case: PLAIN.name, opts: { status: 500 } }, { case: PLAIN.name }])
    const statuses: number[] = []
    for (let turn = 0; turn < 3; turn += 1) {
      const { statusCode, body } = await request(`${replay.url}/slot/q`)
      await body.dump()
      statuses.push(statusCode)
    }
    assert.deepEqual(statuses, [500, 200, 200])
    for (const path of ['/slot/nobody', '/case/a/b/c/v1', '/']) {
      const { statusCode, body } = await request(`${replay.url}${path}`)
      await body.dump()
      assert.equal(statusCode, 598, path)
    }
    assert.equal((await request(`${replay.url}/case/${PLAIN.name}/v1/any`)).statusCode, 200)
  })

  test('a job goes on step by step, from the start in each run, to the file at its address', async () => {
    for (const run of ['a', 'b']) {
      const base = `${replay.url}/case;run=${run}/${FILM.name}`
      let url = ''
      for (const { request: sent } of FILM.steps.slice(0, -1)) {
        const answer = await request(`${base}${sent?.path}`, { method: sent?.method === 'POST' ? 'POST' : 'GET' })
        url = /"url":"([^"]+)"/.exec(await answer.body.text())?.[1] ?? ''
      }
      assert.ok(url.startsWith(base), url)
      assert.ok(
        Buffer.from(await (await request(url)).body.arrayBuffer()).equals(FILM.steps.at(-1)?.body ?? Buffer.alloc(0)),
      )
    }
  })
})
