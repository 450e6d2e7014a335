import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { gateway, type Answer } from '../harness/gateway.ts'
import { refused } from '../harness/refused.ts'

const PRICE_RUB = 0.5

interface Png {
  readonly width: number
  readonly height: number
}

/** Reads a PNG as far as a viewer must: every chunk, and as many bytes of lines as its size says. */
function readPng(bytes: Buffer): Png {
  assert.equal(bytes.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n')
  const [width, height, bits] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[24] ?? 0]
  const parts: Buffer[] = []
  let at = 8
  let last = ''
  while (at < bytes.length) {
    const length = bytes.readUInt32BE(at)
    last = bytes.toString('latin1', at + 4, at + 8)
    if (last === 'IDAT') parts.push(bytes.subarray(at + 8, at + 8 + length))
    at += 12 + length
  }
  assert.equal(last, 'IEND')
  assert.equal(at, bytes.length)
  assert.equal(inflateSync(Buffer.concat(parts)).length, height * (1 + Math.ceil((width * bits) / 8)))
  return { width, height }
}

describe('pictures of the sandbox, on a fresh machine', async () => {
  const tollgate = await gateway({ catalog: 'rate_limit: { requests: 10000, window: 60 }\nmarkup: 1\n' })
  const key = (await tollgate.createAccount({ balance: 1_000 })).key
  const draw = (body: Record<string, unknown>, path = '/v1/images/generations'): Promise<Answer> =>
    tollgate.post(path, key, { model: 'sandbox/image', prompt: 'a cat', ...body })
  const balance = async (): Promise<number> => (await tollgate.get('/v1/user/balance', key)).body.balance
  const bytesAt = async (
    url: string,
  ): Promise<{ readonly bytes: Buffer; readonly headers: Headers; readonly status: number }> => {
    const answer = await fetch(url)
    return { bytes: Buffer.from(await answer.arrayBuffer()), headers: answer.headers, status: answer.status }
  }

  test('url mode: the bytes are stored here and served by token only, from both routes', async () => {
    for (const path of ['/v1/images/generations', '/v1/images']) {
      const answer = await draw({}, path)
      assert.equal(answer.status, 200, answer.text)
      const [image] = answer.body.data
      const prefix = `${tollgate.url}/v1/images/content?id=img-`
      assert.ok(image.url.startsWith(prefix), image.url)
      assert.match(image.url, /id=img-\d{10}-[0-9A-Za-z]{20}&token=[0-9A-Za-z]{22}$/)
      assert.deepEqual(Object.keys(image).toSorted(), ['media_type', 'url'])
      assert.equal(image.media_type, 'image/png')
      const { bytes, headers, status } = await bytesAt(image.url)
      assert.equal(status, 200)
      assert.deepEqual(readPng(bytes), { width: 1_024, height: 1_024 })
      assert.equal(headers.get('content-type'), 'image/png')
      assert.equal(headers.get('cache-control'), 'private, max-age=86400')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('access-control-allow-origin'), '*')
      assert.match(headers.get('content-security-policy') ?? '', /sandbox/)
      const head = await fetch(image.url, { method: 'HEAD' })
      assert.equal(head.headers.get('content-length'), String(bytes.length))
    }
  })

  test('b64_json: the same bytes for the same prompt, others for another; a picture each', async () => {
    const [first, again, other] = await Promise.all(
      ['a cat', 'a cat', 'a dog'].map((prompt) => draw({ prompt, n: 2, response_format: 'b64_json' })),
    )
    const texts = (answer: Answer | undefined): string[] =>
      answer?.body.data.map((image: { b64_json: string }) => image.b64_json)
    assert.deepEqual(texts(first), texts(again))
    assert.notDeepEqual(texts(first), texts(other))
    assert.equal(new Set(texts(first)).size, 2)
    readPng(Buffer.from(texts(first)[0] ?? '', 'base64'))
  })

  test('the size that was asked for, by every way of asking', async () => {
    const cases: readonly (readonly [Record<string, unknown>, Png])[] = [
      ...['1024x1024', '1024x768', '768x1024', '1280x720', '720x1280', '1536x1024', '1024x1536'].map((size) => {
        const [width = 0, height = 0] = size.split('x').map(Number)
        return [{ size }, { width, height }] as const
      }),
      [{ size: 'auto' }, { width: 1_024, height: 1_024 }],
      [
        { size: null, image_config: null },
        { width: 1_024, height: 1_024 },
      ],
      [{ image_config: { aspect_ratio: '16:9' } }, { width: 1_360, height: 768 }],
      [{ image_config: { image_size: '2K' } }, { width: 2_048, height: 2_048 }],
      [{ image_config: { aspect_ratio: '9:16', image_size: '4K' } }, { width: 3_072, height: 5_456 }],
    ]
    for (const [wish, size] of cases) {
      const answer = await draw({ ...wish, response_format: 'b64_json' })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(readPng(Buffer.from(answer.body.data[0].b64_json, 'base64')), size, JSON.stringify(wish))
    }
  })

  test('each delivered picture is paid for, once; the log has one row of it without tokens', async () => {
    const before = await balance()
    const answer = await draw({ n: 3 })
    assert.equal(answer.body.data.length, 3)
    assert.deepEqual(answer.body.usage, {
      input_tokens: 0,
      output_tokens: 0,
      total_tokens: 0,
      input_tokens_details: { text_tokens: 0, image_tokens: 0 },
      prompt_tokens: 0,
      completion_tokens: 0,
      images: 3,
      cost: 1.5,
      currency: 'RUB',
    })
    assert.equal(answer.body.model, 'sandbox/image')
    assert.equal(answer.headers['x-generation-id'], answer.body.id)
    assert.match(answer.body.id, /^gen-\d{10}-[0-9A-Za-z]{20}$/)
    assert.equal(before - (await balance()), 3 * PRICE_RUB)
    const { body: log } = await tollgate.get(`/v1/generation?generation_id=${answer.body.id}`, key)
    assert.equal(log.total, 1)
    const [row] = log.logs
    assert.deepEqual(
      [row.type, row.status, row.model_name, row.total_cost, row.input_tokens, row.output_tokens, row.streamed],
      ['image', 'completed', 'sandbox/image', 1.5, 0, 0, false],
    )
  })

  test('fewer than were asked for are billed as delivered; none is a free 502', async () => {
    const before = await balance()
    const some = await draw({ n: 4, prompt: 'a cat\nsandbox: words=1' })
    assert.deepEqual(
      [some.status, some.body.data.length, some.body.usage.images, some.body.usage.cost],
      [200, 1, 1, PRICE_RUB],
    )
    const none = await draw({ n: 4, prompt: 'a cat\nsandbox: words=0' })
    refused(none, 502, 'empty_response')
    assert.equal(before - (await balance()), PRICE_RUB)
    const { body: log } = await tollgate.get(`/v1/generation?generation_id=${none.headers['x-generation-id']}`, key)
    assert.deepEqual([log.logs[0].status, log.logs[0].total_cost, log.logs[0].type], ['error', 0, 'image'])
  })

  test('a provider that fails costs nothing', async () => {
    const before = await balance()
    for (const [script, status, type] of [
      ['status=503', 503, 'provider_unavailable'],
      ['status=500', 502, 'provider_error'],
      ['status=400', 400, 'invalid_input'],
      ['error=1', 502, 'provider_error'],
    ] as const) {
      const answer = await draw({ prompt: `x\nsandbox: ${script}` })
      assert.deepEqual([answer.status, answer.body.error.metadata.error_type], [status, type], script)
    }
    assert.equal(await balance(), before)
  })

  test('the hold is n pictures: what cannot be paid for is refused beforehand', async () => {
    const poor = await tollgate.createAccount({ balance: 1 })
    const ask = (n: number): Promise<Answer> =>
      tollgate.post('/v1/images', poor.key, { model: 'sandbox/image', prompt: 'x', n })
    const answer = await ask(3)
    assert.deepEqual(
      [answer.status, answer.body.error.metadata.error_type, answer.body.error.metadata.required],
      [402, 'insufficient_balance', 1.5],
    )
    assert.doesNotMatch(answer.body.error.message, /max_tokens/)
    assert.equal((await ask(2)).status, 200)
    assert.equal((await ask(1)).status, 402)
    const limited = await tollgate.createAccount({ balance: 10, key: { limit: 0.7 } })
    const over = await tollgate.post('/v1/images', limited.key, { model: 'sandbox/image', prompt: 'x', n: 2 })
    refused(over, 429, 'limit_exceeded')
  })

  test('a wrong token, id or time is the same 404, and says nothing more', async () => {
    const { url } = (await draw({})).body.data[0]
    const wrong = [
      url.slice(0, -1) + (url.endsWith('a') ? 'b' : 'a'),
      url.replace(/token=.*/, 'token='),
      url.replace(/&token=.*/, ''),
      url.replace(/id=[^&]*/, 'id=img-1-x'),
      `${tollgate.url}/v1/images/content`,
    ]
    for (const address of wrong) {
      const answer = await fetch(address)
      assert.equal(answer.status, 404, address)
      // The server's own body.
      const body = (await answer.json()) as { error: { metadata: { error_type: string } } }
      assert.equal(body.error.metadata.error_type, 'file_not_found')
    }
    assert.equal((await fetch(url)).status, 200)
  })

  test('a source image changes the picture, as data URL, as address and as a reference', async () => {
    const data = `data:image/png;base64,${Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64')}`
    const wishes = [
      {},
      { image: data },
      { image: 'https://example.com/a.png' },
      { input_references: [data, { type: 'image_url', image_url: { url: 'https://example.com/b.png' } }] },
    ]
    const seen = new Set<string>()
    for (const wish of wishes) {
      const answer = await draw({ ...wish, response_format: 'b64_json' })
      assert.equal(answer.status, 200, answer.text)
      seen.add(answer.body.data[0].b64_json)
    }
    assert.equal(seen.size, wishes.length)
  })

  test('the model stands in the list of image models with the map of its parameters', async () => {
    const { body } = await tollgate.get('/v1/images/models', key)
    const model = body.data.find(({ id }: { id: string }) => id === 'sandbox/image')
    assert.deepEqual(model.supported_endpoints, ['images/generations'])
    assert.equal(model.supports_streaming, false)
    assert.equal(model.endpoints, '/v1/models/sandbox/image/endpoints')
    assert.deepEqual(model.supported_parameters.n, { type: 'range', min: 1, max: 10 })
    assert.equal(model.supported_parameters.size.type, 'enum')
    assert.equal(model.pricing.image_output, '0.5')
    const health = await tollgate.request('GET', '/v1/health')
    assert.ok(health.body.endpoints.includes('images/generations'))
  })
})
