import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { request as undiciRequest } from 'undici'
import { audioContainer } from '../../src/kinds/transcription/audio-container.ts'
import { soundSeconds } from '../harness/audio-files.ts'
import { until, untilStill } from '../harness/patience.ts'
import { first, second, tollgate, key, speak, post, lastLog, sound, serveSpeech } from './audio-world.ts'
import { badRequest } from '../harness/refused.ts'
import { loggedRow } from '../harness/money-check.ts'

await serveSpeech()

/** The last row, once it is that of the generation; its hold ends a moment after the client has seen the break. */
function logOf(generationId: string): Promise<Record<string, unknown>> {
  return loggedRow(tollgate, key, generationId)
}

test('every wrong request is refused with its own error, before anything is sent or held', async () => {
  const before = first.received.length
  const base = { model: 'test/one', input: 'Hi' }
  badRequest(await post({ input: 'Hi' }), 'missing_model', /'model' is required/)
  badRequest(await post({ ...base, model: '' }), 'missing_model', /'model' is required/)
  badRequest(await post({ model: 'test/one' }), 'missing_input', /'input' is required/)
  badRequest(await post({ ...base, input: '' }), 'missing_input', /'input' is required/)
  badRequest(await post({ ...base, input: null }), 'missing_input', /'input' is required/)
  badRequest(await post({ ...base, input: 5 }), 'invalid_input', /^input: must be a string/)
  badRequest(
    await post({ ...base, input: '🙂'.repeat(5_001) }),
    'input_too_long',
    /^input is 5001 characters long, the maximum is 5000$/,
  )
  badRequest(
    await post({ ...base, voice: 'bella' }),
    'invalid_input',
    /^voice: must be one of alloy, echo, fable, onyx, nova, shimmer/,
  )
  badRequest(
    await post({ ...base, model: 'test/voices', voice: 'alloy' }),
    'invalid_input',
    /^voice: must be one of Bella, Adam/,
  )
  badRequest(await post({ ...base, voice: 7 }), 'invalid_input', /^voice: must be a string/)
  badRequest(
    await post({ ...base, response_format: 'ogg' }),
    'invalid_response_format',
    /one of mp3, opus, aac, flac, wav, pcm, got 'ogg'/,
  )
  badRequest(await post({ ...base, response_format: { type: 'mp3' } }), 'invalid_response_format', /one of mp3/)
  badRequest(
    await post({ ...base, model: 'test/voices', response_format: 'flac' }),
    'invalid_response_format',
    /speaks mp3, wav, pcm, got 'flac'/,
  )
  for (const speed of [0.24, 4.01, '1', -1])
    badRequest(await post({ ...base, speed }), 'invalid_input', /^speed: must be between 0.25 and 4/)
  badRequest(
    await post({ ...base, stream: true }),
    'streaming_not_supported',
    /Streaming is not supported by audio\/speech/,
  )
  badRequest(
    await post({ ...base, stream_format: 'sse' }),
    'streaming_not_supported',
    /Streaming is not supported by audio\/speech/,
  )
  badRequest(await post({ ...base, model: 'test/none' }), 'model_not_found', /not found/)
  badRequest(
    await post({ ...base, model: 'sandbox/chat' }),
    'model_not_supported',
    /does not support audio\/speech. Supported: chat\/completions/,
  )
  badRequest(
    await post({ model: 'test/one', messages: [{ role: 'user', content: 'x' }] }, '/v1/chat/completions'),
    'model_not_supported',
    /Supported: audio\/speech/,
  )
  const form = await tollgate.request('POST', '/v1/audio/speech', {
    key,
    body: '--x--',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  })
  assert.equal(form.status, 415)
  assert.equal(first.received.length, before)
  assert.equal((await tollgate.get('/v1/generation', key)).body.total, 0)
  assert.equal((await tollgate.get('/v1/user/balance', key)).body.reserved, 0)
})

test('5,000 characters are allowed, of whatever length in bytes, and charged as characters', async () => {
  first.answer((response) => sound(response, 'a'))
  const { status } = await speak({ input: '🙂'.repeat(5_000) })
  assert.equal(status, 200)
  assert.equal((await lastLog())['total_cost'], 5)
})

test('what goes upstream is built value by value, with the first voice, and nothing of the client besides', async () => {
  first.answer((response) => sound(response, 'a'))
  await speak({ speed: 2, instructions: 'whisper', user: 'u', extra: 1, response_format: 'opus' })
  assert.deepEqual(first.requests.at(-1), {
    model: 'tts-1',
    input: 'Hello there',
    voice: 'alloy',
    response_format: 'opus',
    speed: 2,
    instructions: 'whisper',
  })
  assert.equal(first.received.at(-1)?.path, '/v1/audio/speech')
  assert.equal(first.received.at(-1)?.headers.authorization, 'Bearer canary-first')
})

test('each format has its content type', async () => {
  first.answer((response) => sound(response, 'a'))
  for (const [format, type] of Object.entries({
    mp3: 'audio/mpeg',
    opus: 'audio/ogg',
    aac: 'audio/aac',
    flac: 'audio/flac',
    wav: 'audio/wav',
    pcm: 'audio/pcm',
  })) {
    assert.equal((await speak({ response_format: format })).headers['content-type'], type)
  }
})

test('bytes are sent as they arrive: the first is with the client before the provider has the second', async () => {
  const open = Promise.withResolvers<ServerResponse>()
  first.answer((response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' })
    response.write('one')
    open.resolve(response)
  })
  const response = await undiciRequest(`${tollgate.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/one', input: 'Hello there' }),
  })
  const [chunk] = await once(response.body, 'data')
  assert.equal(String(chunk), 'one')
  assert.match(String(response.headers['x-generation-id']), /^gen-/)
  const upstream = await open.promise
  upstream.end('two')
  const rest: Buffer[] = []
  for await (const part of response.body) rest.push(part)
  assert.equal(Buffer.concat(rest).toString(), 'two')
  const log = await lastLog()
  assert.deepEqual(
    [log['type'], log['status'], log['total_cost'], log['provider_name']],
    ['tts', 'completed', 0.011, 'First'],
  )
})

test('a client that does not read stops the provider, and gets every byte when it does', async () => {
  const chunk = Buffer.alloc(65_536, 1)
  const total = 48 * 1_048_576
  let sent = 0
  first.answer((response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' })
    sent = 0
    const more = (): void => {
      while (sent < total) {
        sent += chunk.length
        if (!response.write(chunk)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  })
  const response = await undiciRequest(`${tollgate.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/one', input: 'Hello there' }),
    highWaterMark: 1_024,
  })
  await untilStill(() => sent)
  assert.ok(sent < total / 2, `${sent} bytes were taken of a provider whose client reads none`)
  let read = 0
  for await (const part of response.body) read += part.length
  assert.equal(read, total)
})

test('an answer that is no sound is refused: JSON, a page, an error inside a 200, a body without a known end', async () => {
  second.answer((response) => sound(response, 'good'))
  const wrong: readonly ((response: ServerResponse) => void)[] = [
    (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end('{"error":{"message":"no","code":"x"}}'),
    (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"audio":""}'),
    (response) => void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>busy</html>'),
    // A gateway that labels everything as audio.
    (response) =>
      void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('{"error":{"message":"no","code":"x"}}'),
    (response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('{}'),
    (response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(' \n<html>busy</html>'),
    (response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' }).write('[')
      response.end('"an answer in two pieces"]')
    },
    (response) =>
      void response
        .writeHead(500, { 'content-type': 'application/json' })
        .end('{"error":{"message":"https://secret.internal"}}'),
    (response) => {
      response.socket?.end('HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\nconnection: close\r\n\r\nbytes')
    },
  ]
  for (const script of wrong) {
    first.answer(script)
    assert.equal((await speak({ model: 'test/two' })).bytes.toString(), 'good')
  }
})

test('a sound that begins like a text is one: what follows is not printable', async () => {
  const bytes = Buffer.from('7b5b3c00ff01', 'hex')
  first.answer((response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(bytes))
  assert.deepEqual((await speak({ model: 'test/one' })).bytes, bytes)
})

/** An answer that begins and does not end; `cut` resets its connection. */
function beginning(): { readonly cut: () => void } {
  let begun: ServerResponse | null = null
  first.answer((response) => {
    begun = response
    response.writeHead(200, { 'content-type': 'audio/mpeg' })
    response.write('beginning')
  })
  return { cut: () => void begun?.socket?.resetAndDestroy() }
}

test('a failure after the first byte breaks the connection and costs nothing', async () => {
  for (const fault of ['cut', 'stall'] as const) {
    const { cut } = beginning()
    const response = await undiciRequest(`${tollgate.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test/one', input: 'Hello there' }),
    })
    assert.equal(response.statusCode, 200)
    if (fault === 'cut') cut()
    await assert.rejects(response.body.arrayBuffer(), fault)
    const log = await logOf(String(response.headers['x-generation-id']))
    assert.deepEqual([log['status'], log['total_cost']], ['error', 0], fault)
  }
})

test('the broken connection is a reset, which no client takes for an end', async () => {
  const { cut } = beginning()
  const body = JSON.stringify({ model: 'test/one', input: 'Hello there' })
  const socket = connect(Number(new URL(tollgate.url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    if (text.includes('beginning')) cut()
  })
  socket.write(
    `POST /v1/audio/speech HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  const [error] = await once(socket, 'error')
  assert.equal(error.code, 'ECONNRESET')
  assert.match(text, /beginning/)
  assert.doesNotMatch(text, /\r\n0\r\n\r\n$/)
})

/** Leaves after the first byte; returns the generation's id and the end that the provider saw. */
async function leaveAfterFirst(
  model: string,
  rest: (response: ServerResponse) => void,
): Promise<{ id: string; upstreamClosed: Promise<unknown> }> {
  const closed = Promise.withResolvers<unknown>()
  first.answer((response) => {
    response.on('close', () => closed.resolve(response.writableFinished))
    response.writeHead(200, { 'content-type': 'audio/mpeg' })
    response.write('beginning')
    rest(response)
  })
  const response = await undiciRequest(`${tollgate.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: 'Hello there' }),
  })
  await once(response.body, 'data')
  response.body.on('error', () => undefined)
  response.body.destroy()
  return { id: String(response.headers['x-generation-id']), upstreamClosed: closed.promise }
}

test('a client that leaves: a provider that stops billing is cancelled, another is heard to its end; both are charged', async () => {
  const cancelled = await leaveAfterFirst('test/one', () => undefined)
  assert.equal(await cancelled.upstreamClosed, false)
  const cut = await logOf(cancelled.id)
  assert.deepEqual([cut['status'], cut['total_cost'], cut['billing_basis']], ['cancelled', 0.011, 'counted'])
  const rest = Promise.withResolvers<void>()
  const drained = await leaveAfterFirst('test/keeps', (response) => void rest.promise.then(() => response.end('end')))
  await until(20_000, 'the answer is read on', async () =>
    /tollgate_drains 1\b/.test((await tollgate.request('GET', '/metrics')).text),
  )
  rest.resolve()
  assert.equal(await drained.upstreamClosed, true)
  const whole = await logOf(drained.id)
  assert.deepEqual([whole['status'], whole['total_cost']], ['cancelled', 0.011])
})

test('a client that leaves before the first sound pays nothing', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  first.answer((response) => asked.resolve(response))
  const stop = new AbortController()
  const pending = undiciRequest(`${tollgate.url}/v1/audio/speech`, {
    method: 'POST',
    signal: stop.signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': 'left-early' },
    body: JSON.stringify({ model: 'test/one', input: 'Hello there' }),
  })
  const upstream = await asked.promise
  stop.abort()
  await assert.rejects(pending)
  await once(upstream, 'close')
  for (;;) {
    const { body } = await tollgate.get('/v1/generation?request_id=left-early', key)
    if (body.total === 0) continue
    assert.deepEqual([body.logs[0].status, body.logs[0].total_cost], ['cancelled', 0])
    return
  }
})

test('the sandbox speaks without a provider: wav and pcm in tones, mp3 in silence, which depend only on the text', async () => {
  const wav = await speak({ model: 'sandbox/tts', response_format: 'wav' })
  assert.equal(await soundSeconds(wav.bytes), 11 * 0.024)
  const pcm = await speak({ model: 'sandbox/tts', response_format: 'pcm' })
  assert.ok(wav.bytes.subarray(44).equals(pcm.bytes))
  assert.ok(pcm.bytes.some((byte) => byte !== 0))
  assert.ok((await speak({ model: 'sandbox/tts', response_format: 'pcm' })).bytes.equals(pcm.bytes))
  assert.ok(!(await speak({ model: 'sandbox/tts', response_format: 'pcm', voice: 'nova' })).bytes.equals(pcm.bytes))
  assert.equal(
    (await speak({ model: 'sandbox/tts', response_format: 'pcm', speed: 2 })).bytes.length,
    pcm.bytes.length / 2,
  )
  const mp3 = await speak({ model: 'sandbox/tts' })
  assert.equal(audioContainer(mp3.bytes), 'mp3')
  assert.equal(await soundSeconds(mp3.bytes), 11 * 0.024)
  assert.equal((await lastLog())['total_cost'], 0.0165)
  badRequest(
    await post({ model: 'sandbox/tts', input: 'x', response_format: 'flac' }),
    'invalid_response_format',
    /speaks mp3, wav, pcm/,
  )
  assert.equal((await post({ model: 'sandbox/tts', input: 'x\nsandbox: status=503' })).status, 503)
  assert.equal((await post({ model: 'sandbox/tts', input: 'x\nsandbox: words=0' })).status, 502)
  await assert.rejects(speak({ model: 'sandbox/tts', input: 'x y z\nsandbox: error=2' }))
})

test('the list of models tells voices, formats, price and endpoint', async () => {
  const { body } = await tollgate.get('/v1/tts/models', key)
  const record = body.data.find(({ id }: { id: string }) => id === 'test/voices')
  assert.deepEqual(
    [record.supported_voices, record.supported_formats, record.supported_endpoints, record.pricing.per_character],
    [['Bella', 'Adam'], ['mp3', 'wav', 'pcm'], ['audio/speech'], '0.001'],
  )
  const plain = body.data.find(({ id }: { id: string }) => id === 'test/one')
  assert.deepEqual([plain.supported_voices.length, plain.supported_formats.length], [6, 6])
  assert.deepEqual(body.data.find(({ id }: { id: string }) => id === 'test/gemini').supported_formats, ['wav', 'pcm'])
  assert.ok(body.data.every(({ type }: { type: string }) => type === 'tts'))
})

test('after all of it nothing is held, and no key has been told', async () => {
  assert.doesNotMatch(tollgate.logs().join('\n'), /canary-/)
  assert.equal((await tollgate.get('/v1/user/balance', key)).body.reserved, 0)
})
