import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sendJson, startImageUpstream, type ImageUpstream, type SeenRequest } from '../harness/image-upstream.ts'
import { startTollgate, type Answer, type Tollgate } from '../harness/server.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const B64 = PNG.toString('base64')
const DATA = `data:image/png;base64,${B64}`
const USAGE = {
  total_tokens: 100,
  input_tokens: 50,
  output_tokens: 50,
  input_tokens_details: { text_tokens: 10, image_tokens: 40 },
}

let upstream: ImageUpstream
let second: ImageUpstream
let tollgate: Tollgate
let key: string

before(async () => {
  upstream = await startImageUpstream()
  second = await startImageUpstream()
  const per = (model: string, provider = 'one'): string =>
    `[{ provider: ${provider}, model: ${model}, price: { currency: RUB, image_output: { 1024x1024: 2, hd: 2 }, image: 0.1 } }]`
  tollgate = await startTollgate({
    catalog: `
bundled: false
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  one: { name: One, adapter: openai, base_url: "${upstream.url}/v1", api_key: upstream-canary-key }
  two: { name: Two, adapter: openai, base_url: "${second.url}/v1", api_key: k }
  words: { name: Words, adapter: openai, base_url: "${upstream.url}/v1", api_key: k, dialect: { images: words } }
  google: { name: Google, adapter: gemini, base_url: "${upstream.url}/v1beta", api_key: k }
models:
  - { id: v/any, type: image, endpoints: ${per('any-image')} }
  - { id: v/gpt, type: image, max_completion_tokens: 4160, endpoints: [{ provider: one, model: gpt-image-1, price: { currency: RUB, prompt: 10, completion: 40 } }] }
  - { id: v/both, type: image, max_completion_tokens: 4160, endpoints: [{ provider: one, model: gpt-image-1, price: { currency: RUB, prompt: 10, completion: 40, image_output: 1, request: 0.5 } }] }
  - { id: v/dall-e-3, type: image, endpoints: ${per('dall-e-3')} }
  - { id: v/words, type: image, endpoints: ${per('grok-imagine-image', 'words')} }
  - { id: v/imagen, type: image, endpoints: ${per('imagen-4.0-generate-001', 'google')} }
  - { id: v/gemini, type: image, max_completion_tokens: 8192, endpoints: [{ provider: google, model: gemini-2.5-flash-image, price: { currency: RUB, prompt: 30, completion: 3000 } }] }
  - { id: v/chat, type: chat, context_length: 32768, max_completion_tokens: 8192, input_modalities: [text, image], output_modalities: [image, text], endpoints: [{ provider: one, model: speaks, price: { currency: RUB, prompt: 30, completion: 3000 } }] }
  - { id: v/mute, type: chat, context_length: 32768, endpoints: [{ provider: one, model: mute, price: { currency: RUB, prompt: 1, completion: 1 } }] }
  - { id: v/short, type: image, max_prompt_length: 10, supported_sizes: [1024x1024], endpoints: ${per('any-image')} }
  - id: v/two
    type: image
    endpoints:
      - { provider: one, model: a, price: { currency: RUB, image_output: 1 } }
      - { provider: two, model: b, price: { currency: RUB, image_output: 3 } }
`,
  })
  key = (await tollgate.createAccount({ balance: 10_000 })).key
})

after(async () => {
  await tollgate.stop()
  await Promise.all([upstream.close(), second.close()])
})

function draw(body: Record<string, unknown>): Promise<Answer> {
  return tollgate.request('POST', '/v1/images/generations', {
    key,
    body: { model: 'v/any', prompt: 'a cat', response_format: 'b64_json', ...body },
  })
}

function sent(index = 0, from = upstream): Record<string, unknown> {
  const json = from.seen.filter(({ method }) => method === 'POST')[index]?.json
  assert.ok(typeof json === 'object' && json !== null)
  return { ...json }
}

function errorOf(answer: Answer): unknown {
  return [answer.status, answer.body.error?.metadata.error_type, answer.body.error?.message]
}

async function balance(): Promise<number> {
  return (await tollgate.request('GET', '/v1/user/balance', { key })).body.balance
}

async function logRow(answer: Answer): Promise<Record<string, unknown>> {
  const { body } = await tollgate.request('GET', `/v1/generation?generation_id=${answer.headers['x-generation-id']}`, {
    key,
  })
  assert.equal(body.total, 1)
  return body.logs[0]
}

/** As many pictures as are asked for. */
function generous(usage?: unknown): (request: SeenRequest, response: Parameters<typeof sendJson>[0]) => void {
  return ({ json }, response) => {
    // Our own request; a form asks for one.
    const { n = 1 } = (json ?? {}) as { n?: number }
    sendJson(response, {
      created: 1,
      data: Array.from({ length: n }, () => ({ b64_json: B64 })),
      ...(usage === undefined ? {} : { usage }),
    })
  }
}

describe("OpenAI's protocol", () => {
  test('the body goes up field by field, unknown ones and those of ours do not', async () => {
    upstream.answer(generous())
    const answer = await draw({
      n: 2,
      size: '1280x720',
      quality: 'hd',
      style: 'vivid',
      background: 'auto',
      output_format: 'webp',
      output_compression: 80,
      seed: 5,
      user: 'u',
      junk: 1,
      api_base: 'http://evil',
      provider: { order: ['one'] },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(upstream.seen[0]?.path, '/v1/images/generations')
    assert.equal(upstream.seen[0]?.headers['authorization'], 'Bearer upstream-canary-key')
    assert.deepEqual(sent(), {
      model: 'any-image',
      prompt: 'a cat',
      size: '1280x720',
      n: 2,
      quality: 'hd',
      background: 'auto',
      output_format: 'webp',
      output_compression: 80,
      style: 'vivid',
      seed: 5,
      user: 'u',
      response_format: 'b64_json',
    })
    assert.deepEqual(answer.body.data, [
      { b64_json: B64, media_type: 'image/png' },
      { b64_json: B64, media_type: 'image/png' },
    ])
    assert.deepEqual([answer.body.usage.images, answer.body.usage.cost], [2, 4])
  })

  test('tokens are charged exactly, by the price that was read; one row of the log', async () => {
    upstream.answer((_request, response) =>
      sendJson(response, {
        created: 1,
        data: [{ b64_json: B64, revised_prompt: 'a nicer cat' }],
        output_format: 'png',
        usage: USAGE,
      }),
    )
    const before = await balance()
    const answer = await draw({ model: 'v/gpt', size: '1024x1536', quality: 'low', style: 'vivid' })
    assert.deepEqual(sent(), { model: 'gpt-image-1', prompt: 'a cat', size: '1024x1536', quality: 'low' })
    assert.equal(answer.body.data[0].revised_prompt, 'a nicer cat')
    // 50 × 10 + 50 × 40 µRUB.
    assert.deepEqual(answer.body.usage, {
      input_tokens: 50,
      output_tokens: 50,
      total_tokens: 100,
      input_tokens_details: { text_tokens: 10, image_tokens: 40 },
      prompt_tokens: 50,
      completion_tokens: 50,
      images: 1,
      cost: 0.0025,
      currency: 'RUB',
    })
    assert.ok(Math.abs(before - (await balance()) - 0.0025) < 1e-9)
    const row = await logRow(answer)
    assert.deepEqual(
      [row['type'], row['input_tokens'], row['output_tokens'], row['total_cost'], row['billing_basis'], row['status']],
      ['image', 50, 50, 0.0025, 'provider_usage', 'completed'],
    )
  })

  test('a price of everything is charged for everything', async () => {
    upstream.answer(generous(USAGE))
    const answer = await draw({ model: 'v/both', n: 2 })
    assert.equal(answer.body.usage.cost, 0.0025 + 2 * 1 + 0.5)
  })

  test('a per-token model whose provider names no tokens is counted, and an absurd number is bounded', async () => {
    upstream.answer(generous())
    const counted = await draw({ model: 'v/gpt' })
    assert.equal((await logRow(counted))['billing_basis'], 'counted')
    assert.equal(counted.body.usage.output_tokens, 1_290)
    assert.ok(counted.body.usage.input_tokens > 0 && counted.body.usage.input_tokens < 10)
    upstream.answer(generous({ input_tokens: 50, output_tokens: 9_000_000, total_tokens: 9_000_050 }))
    const absurd = await draw({ model: 'v/gpt' })
    assert.equal(absurd.body.usage.output_tokens, 4_160)
  })

  test('more pictures than the provider makes at once: calls side by side in one attempt, usage and pictures summed', async () => {
    upstream.answer(generous(USAGE))
    const answer = await draw({ model: 'v/dall-e-3', n: 4, size: '1280x720' })
    assert.equal(answer.body.data.length, 4)
    assert.equal(upstream.seen.length, 4)
    // dall-e-3 has its own wide size.
    assert.deepEqual(sent(3), { model: 'dall-e-3', prompt: 'a cat', size: '1792x1024', response_format: 'b64_json' })
    assert.equal(answer.body.usage.cost, 8)
    assert.equal((await logRow(answer))['status'], 'completed')
  })

  test('some of those calls fail: what came is delivered and paid for', async () => {
    upstream.answer((request, response, count) =>
      count === 1 || count === 2
        ? sendJson(response, { error: { message: 'busy' } }, 500)
        : generous()(request, response),
    )
    const answer = await draw({ model: 'v/dall-e-3', n: 4 })
    assert.deepEqual(
      [answer.status, answer.body.data.length, answer.body.usage.images, answer.body.usage.cost],
      [200, 2, 2, 4],
    )
    upstream.answer((_request, response) =>
      sendJson(
        response,
        { error: { message: 'Your prompt was rejected by our safety system', code: 'content_policy_violation' } },
        400,
      ),
    )
    const refused = await draw({ model: 'v/dall-e-3', n: 4 })
    assert.deepEqual([refused.status, refused.body.error.metadata.error_type], [400, 'content_filtered'])
  })

  test('more pictures than were asked for are not delivered and not charged', async () => {
    upstream.answer((_request, response) =>
      sendJson(response, { data: [{ b64_json: B64 }, { b64_json: B64 }, { b64_json: B64 }] }),
    )
    const answer = await draw({ n: 2 })
    assert.deepEqual([answer.body.data.length, answer.body.usage.cost], [2, 4])
  })

  test("undecodable pictures are nobody's: the next provider draws, and without one it is a free 502", async () => {
    const before = await balance()
    const empty = (request: SeenRequest, response: Parameters<typeof sendJson>[0]): void =>
      sendJson(
        response,
        request.path === '' ? {} : { data: [{ b64_json: '...' }, { b64_json: '' }, {}, null, { url: 'nonsense' }] },
      )
    upstream.answer(empty)
    second.answer(generous())
    const saved = await draw({ model: 'v/two', provider: { order: ['one'] } })
    assert.equal(saved.status, 200, saved.text)
    assert.deepEqual([saved.status, saved.body.data.length, saved.body.usage.cost], [200, 1, 3])
    assert.equal((await logRow(saved))['provider_name'], 'Two')
    second.answer(empty)
    const lost = await draw({ model: 'v/two', provider: { order: ['one'] } })
    assert.deepEqual(errorOf(lost), [502, 'empty_response', 'Empty response from provider'])
    assert.equal(before - (await balance()), 3)
    assert.equal((await logRow(lost))['total_cost'], 0)
  })

  test('one decodable picture of three is one', async () => {
    upstream.answer((_request, response) =>
      sendJson(response, { data: [{ b64_json: '***' }, { b64_json: B64 }, { b64_json: '' }] }),
    )
    const answer = await draw({ n: 3 })
    assert.deepEqual([answer.body.data.length, answer.body.usage.images, answer.body.usage.cost], [1, 1, 2])
  })

  test("errors are the client's own, and name nothing of ours", async () => {
    const cases = [
      [400, { error: { message: "Unknown parameter: 'quality'." } }, 400, 'invalid_input'],
      [401, { error: { message: 'Incorrect API key provided: upstream-canary-key' } }, 502, 'provider_error'],
      [429, { error: { message: 'slow down' } }, 503, 'provider_unavailable'],
      [500, { error: { message: 'oops' } }, 502, 'provider_error'],
      [200, { error: { message: 'inside', code: 500 } }, 502, 'provider_error'],
      [200, { data: 'none' }, 502, 'provider_error'],
      [200, [], 502, 'provider_error'],
    ] as const
    const before = await balance()
    for (const [status, body, expected, type] of cases) {
      upstream.answer((_request, response) => sendJson(response, body, status))
      const answer = await draw({})
      assert.deepEqual([answer.status, answer.body.error.metadata.error_type], [expected, type], JSON.stringify(body))
      assert.doesNotMatch(answer.text, /canary/)
    }
    assert.equal(await balance(), before)
  })

  test('a ratio becomes a size; one that the model does not make is refused', async () => {
    upstream.answer(generous())
    const cases = [
      ['v/any', { aspect_ratio: '3:2' }, '1536x1024'],
      ['v/any', { aspect_ratio: '21:9' }, '1568x672'],
      ['v/any', { image_size: '2K' }, '2048x2048'],
      ['v/gpt', { aspect_ratio: '2:3' }, '1024x1536'],
      ['v/dall-e-3', { aspect_ratio: '9:16' }, '1024x1792'],
    ] as const
    for (const [model, config, size] of cases) {
      upstream.answer(generous())
      await draw({ model, image_config: config })
      assert.equal(sent()['size'], size, JSON.stringify(config))
    }
    const refused = await draw({ model: 'v/gpt', image_config: { aspect_ratio: '16:9' } })
    assert.deepEqual(errorOf(refused), [
      400,
      'invalid_input',
      'image_config: this provider makes pictures of 1024x1024, 1536x1024, 1024x1536',
    ])
  })

  test('pictures to start from are sent as files; an address is refused, for nothing is fetched', async () => {
    upstream.answer((_request, response) => sendJson(response, { data: [{ b64_json: B64 }], usage: USAGE }))
    const answer = await draw({ model: 'v/gpt', image: DATA, input_references: [DATA], n: 1, quality: 'high' })
    assert.equal(answer.status, 200, answer.text)
    const [request] = upstream.seen
    assert.equal(request?.path, '/v1/images/edits')
    const form = await new Response(new Uint8Array(request?.body ?? Buffer.alloc(0)), {
      headers: { 'content-type': String(request?.headers['content-type']) },
    }).formData()
    assert.deepEqual([form.get('model'), form.get('prompt'), form.get('quality')], ['gpt-image-1', 'a cat', 'high'])
    const files = form.getAll('image[]').filter((part) => part instanceof File)
    assert.deepEqual(
      files.map(({ type, name }) => [type, name]),
      [
        ['image/png', 'image-0.png'],
        ['image/png', 'image-1.png'],
      ],
    )
    assert.deepEqual(Buffer.from((await files[1]?.arrayBuffer()) ?? new ArrayBuffer(0)), PNG)
    const refused = await draw({ model: 'v/gpt', image: `${upstream.url}/secret.png` })
    assert.deepEqual(errorOf(refused), [
      400,
      'invalid_input',
      'image: this provider fetches no addresses. Send the image as a data URL in base64',
    ])
    assert.equal(upstream.seen.length, 1)
  })

  test('a source image has its price, for each call', async () => {
    upstream.answer(generous())
    assert.equal((await draw({ image: DATA })).body.usage.cost, 2.1)
    assert.equal((await draw({ model: 'v/dall-e-3', image: DATA, n: 2 })).body.usage.cost, 4.2)
  })
})

describe('files that an answer names', () => {
  test("the provider's own are fetched, stored and served by us; data URLs are read", async () => {
    upstream.answer((request, response) => {
      if (request.method === 'GET') response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(PNG)
      else sendJson(response, { data: [{ url: `${upstream.url}/files/a` }, { url: DATA }] })
    })
    const answer = await draw({ n: 2, response_format: 'url' })
    assert.equal(answer.status, 200, answer.text)
    for (const { url, media_type: type } of answer.body.data) {
      assert.ok(url.startsWith(`${tollgate.url}/v1/images/content?`))
      assert.equal(type, 'image/png')
      assert.deepEqual(Buffer.from(await (await fetch(url)).arrayBuffer()), PNG)
    }
    assert.equal(upstream.seen.filter(({ method }) => method === 'GET')[0]?.headers['authorization'], undefined)
    assert.equal((await draw({ n: 2 })).body.data[0].b64_json, B64)
  })

  test('nothing else in a private network is: neither by name, nor by number, nor by a redirect', async () => {
    const before = await balance()
    const port = new URL(second.url).port
    second.answer((_request, response) => response.writeHead(200).end(PNG))
    const addresses = [
      `${second.url}/x`,
      `http://localhost:${port}/`,
      'http://127.0.0.1/',
      'http://0x7f.1/',
      'http://[::1]/',
      'http://[::ffff:127.0.0.1]/',
      'http://169.254.169.254/latest',
      'http://10.0.0.1/',
      'http://user:pw@example.com/',
      'file:///etc/passwd',
      'ftp://example.com/x',
      `${upstream.url}/moved`,
    ]
    upstream.answer((request, response) => {
      if (request.method === 'GET') response.writeHead(302, { location: `${second.url}/x` }).end()
      else sendJson(response, { data: addresses.map((url) => ({ url })) })
    })
    const answer = await draw({ n: 10 })
    assert.deepEqual(errorOf(answer), [502, 'empty_response', 'Empty response from provider'])
    assert.equal(second.seen.length, 0)
    assert.equal(await balance(), before)
  })

  test('a drawing that holds scripts is served where none can run', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    upstream.answer((_request, response) => sendJson(response, { data: [{ b64_json: svg.toString('base64') }] }))
    const { body } = await draw({ response_format: 'url' })
    const served = await fetch(body.data[0].url)
    assert.equal(served.headers.get('content-type'), 'image/svg+xml')
    assert.match(served.headers.get('content-security-policy') ?? '', /default-src 'none'.*sandbox$/)
  })
})

describe("xAI's form", () => {
  test('shape in words, pictures to start from as they were given', async () => {
    upstream.answer(generous())
    await draw({ model: 'v/words', size: '1280x720', image_config: { image_size: '2K' }, n: 3, quality: 'hd' })
    assert.deepEqual(sent(), {
      model: 'grok-imagine-image',
      prompt: 'a cat',
      aspect_ratio: '16:9',
      resolution: '2k',
      n: 3,
      response_format: 'b64_json',
    })
    await draw({ model: 'v/words', image: 'https://example.com/a.png' })
    assert.equal(upstream.seen[1]?.path, '/v1/images/edits')
    assert.deepEqual(sent(1)['image'], { url: 'https://example.com/a.png', type: 'image_url' })
    await draw({ model: 'v/words', image: 'https://example.com/a.png', input_references: [DATA] })
    assert.deepEqual(sent(2)['images'], [
      { url: 'https://example.com/a.png', type: 'image_url' },
      { url: DATA, type: 'image_url' },
    ])
    assert.equal((await draw({ model: 'v/words', image_config: { aspect_ratio: '21:9' } })).status, 400)
    assert.equal(upstream.seen.length, 3)
  })
})

describe("Google's pictures", () => {
  test('Imagen: four at a time, in its own words', async () => {
    upstream.answer(({ json }, response) => {
      // Our own request.
      const { parameters } = json as { parameters: { sampleCount: number } }
      sendJson(response, {
        predictions: Array.from({ length: parameters.sampleCount }, () => ({
          mimeType: 'image/png',
          bytesBase64Encoded: B64,
        })),
      })
    })
    const answer = await draw({
      model: 'v/imagen',
      n: 6,
      size: '1536x1024',
      seed: 4,
      output_format: 'jpeg',
      output_compression: 70,
      image_config: { image_size: '2K' },
    })
    assert.equal(answer.body.data.length, 6)
    assert.equal(upstream.seen[0]?.path, '/v1beta/models/imagen-4.0-generate-001:predict')
    assert.equal(upstream.seen[0]?.headers['x-goog-api-key'], 'k')
    const counts = [0, 1].map((index) => sent(index)['parameters'])
    assert.deepEqual(sent()['instances'], [{ prompt: 'a cat' }])
    assert.deepEqual(
      counts,
      [4, 2].map((sampleCount) => ({
        sampleCount,
        aspectRatio: '4:3',
        sampleImageSize: '2K',
        seed: 4,
        addWatermark: false,
        outputOptions: { mimeType: 'image/jpeg', compressionQuality: 70 },
      })),
    )
    assert.equal(answer.body.usage.cost, 12)
    assert.deepEqual(errorOf(await draw({ model: 'v/imagen', image: DATA })), [
      400,
      'invalid_input',
      'image: this model starts from no image',
    ])
    assert.deepEqual(errorOf(await draw({ model: 'v/imagen', image_config: { aspect_ratio: '21:9' } })), [
      400,
      'invalid_input',
      'image_config.aspect_ratio: this provider makes 1:1, 3:4, 4:3, 9:16, 16:9',
    ])
  })

  test('Imagen: some kept back are not paid for; all kept back is the refusal of the prompt', async () => {
    upstream.answer((_request, response) =>
      sendJson(response, {
        predictions: [{ raiFilteredReason: 'against the rules' }, { mimeType: 'image/png', bytesBase64Encoded: B64 }],
      }),
    )
    assert.equal((await draw({ model: 'v/imagen', n: 2 })).body.usage.cost, 2)
    upstream.answer((_request, response) =>
      sendJson(response, { predictions: [{ raiFilteredReason: 'against the rules' }] }),
    )
    assert.deepEqual(errorOf(await draw({ model: 'v/imagen', n: 2 })), [400, 'content_filtered', 'against the rules'])
  })

  test('Gemini: one call a picture, tokens summed and charged', async () => {
    upstream.answer((_request, response) =>
      sendJson(response, {
        candidates: [
          {
            content: { role: 'model', parts: [{ text: 'here' }, { inlineData: { mimeType: 'image/png', data: B64 } }] },
            finishReason: 'STOP',
          },
        ],
        usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1_290, totalTokenCount: 1_299 },
      }),
    )
    const answer = await draw({
      model: 'v/gemini',
      n: 2,
      image: DATA,
      input_references: ['https://example.com/b.png'],
      image_config: { aspect_ratio: '21:9', image_size: '4K' },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(upstream.seen.length, 2)
    const body = sent()
    assert.deepEqual(body['generationConfig'], {
      responseModalities: ['IMAGE', 'TEXT'],
      imageConfig: { aspectRatio: '21:9', imageSize: '4K' },
    })
    assert.deepEqual(body['contents'], [
      {
        role: 'user',
        parts: [
          { text: 'a cat' },
          { inlineData: { mimeType: 'image/png', data: B64 } },
          { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/b.png' } },
        ],
      },
    ])
    assert.deepEqual(
      [answer.body.usage.input_tokens, answer.body.usage.output_tokens, answer.body.usage.images],
      [18, 2_580, 2],
    )
    assert.equal(answer.body.usage.cost, (18 * 30 + 2_580 * 3_000) / 1_000_000)
  })

  test('Gemini: an answer without a picture is free, and a refusal says so', async () => {
    upstream.answer((_request, response) =>
      sendJson(response, {
        candidates: [{ content: { parts: [{ text: 'I would rather not.' }] }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 5, totalTokenCount: 14 },
      }),
    )
    assert.deepEqual(errorOf(await draw({ model: 'v/gemini' })), [
      502,
      'empty_response',
      'Empty response from provider',
    ])
    upstream.answer((_request, response) =>
      sendJson(response, {
        candidates: [{ finishReason: 'IMAGE_SAFETY' }],
        usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
      }),
    )
    const refused = await draw({ model: 'v/gemini' })
    assert.deepEqual([refused.status, refused.body.error.metadata.error_type], [400, 'content_filtered'])
  })
})

describe('chat models that answer with pictures', () => {
  const said = (images: unknown): unknown => ({
    id: 'c',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Here.', images }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 1_300, total_tokens: 1_310 },
  })

  test('each picture is a chat of its own', async () => {
    upstream.answer((_request, response) => sendJson(response, said([{ type: 'image_url', image_url: { url: DATA } }])))
    const answer = await draw({ model: 'v/chat', n: 2, size: '720x1280', image: 'https://example.com/a.png', seed: 3 })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(upstream.seen[0]?.path, '/v1/chat/completions')
    assert.deepEqual(sent(), {
      model: 'speaks',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a cat' },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          ],
        },
      ],
      modalities: ['image', 'text'],
      image_config: { aspect_ratio: '9:16' },
      seed: 3,
    })
    assert.deepEqual(
      [answer.body.data.length, answer.body.usage.prompt_tokens, answer.body.usage.completion_tokens],
      [2, 20, 2_600],
    )
    assert.equal(answer.body.usage.cost, (20 * 30 + 2_600 * 3_000) / 1_000_000)
    const row = await logRow(answer)
    assert.deepEqual([row['type'], row['model_name']], ['image', 'v/chat'])
  })

  test('one that only speaks is no model of pictures, in the answer and in the list', async () => {
    const answer = await draw({ model: 'v/mute' })
    assert.deepEqual([answer.status, answer.body.error.metadata.error_type], [400, 'model_not_supported'])
    upstream.answer((_request, response) => sendJson(response, said([])))
    assert.equal((await draw({ model: 'v/chat' })).status, 502)
    const { body } = await tollgate.request('GET', '/v1/images/models', { key })
    const ids = body.data.map(({ id }: { id: string }) => id)
    assert.ok(ids.includes('v/chat') && !ids.includes('v/mute'))
    const record = (id: string): Record<string, unknown> => body.data.find((one: { id: string }) => one.id === id)
    const endpoints = record('v/chat')['supported_endpoints']
    assert.ok(
      Array.isArray(endpoints) && endpoints.includes('chat/completions') && endpoints.includes('images/generations'),
    )
    assert.deepEqual(record('v/any')['supported_endpoints'], ['images/generations'])
    const speaking = await tollgate.request('POST', '/v1/chat/completions', {
      key,
      body: { model: 'v/any', messages: [{ role: 'user', content: 'x' }] },
    })
    assert.deepEqual([speaking.status, speaking.body.error.metadata.error_type], [400, 'model_not_supported'])
  })
})

describe('what the model cannot serve', () => {
  test('a prompt over its length, a size it does not make, a name nobody has', async () => {
    assert.deepEqual(errorOf(await draw({ model: 'v/short', prompt: 'x'.repeat(11) })), [
      400,
      'prompt_too_long',
      'prompt is 11 characters long, the maximum is 10',
    ])
    assert.deepEqual(errorOf(await draw({ prompt: 'x'.repeat(32_001) })), [
      400,
      'prompt_too_long',
      'prompt is 32001 characters long, the maximum is 32000',
    ])
    upstream.answer(generous())
    assert.equal((await draw({ model: 'v/short', prompt: '😀'.repeat(10) })).status, 200)
    assert.deepEqual(errorOf(await draw({ model: 'v/short', prompt: 'x', size: '1280x720' })), [
      400,
      'invalid_input',
      'size: must be one of 1024x1024',
    ])
    assert.deepEqual(errorOf(await draw({ model: 'v/none' })), [
      400,
      'model_not_found',
      "Model 'v/none' not found or inactive",
    ])
  })

  test('the errors of the body reach the client as they are', async () => {
    assert.deepEqual(errorOf(await draw({ model: undefined })), [400, 'missing_model', "Parameter 'model' is required"])
    assert.deepEqual(errorOf(await draw({ prompt: '' })), [400, 'missing_prompt', "Parameter 'prompt' is required"])
    assert.deepEqual(errorOf(await draw({ stream: true })), [
      400,
      'streaming_not_supported',
      'Streaming is not supported by images/generations',
    ])
    assert.deepEqual(errorOf(await draw({ n: 11 })), [400, 'invalid_input', 'n: must be an integer from 1 to 10'])
    assert.deepEqual(errorOf(await draw({ response_format: 'png' })), [
      400,
      'invalid_response_format',
      'Invalid response_format: must be url or b64_json',
    ])
    const form = await tollgate.request('POST', '/v1/images', {
      key,
      body: 'x',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    })
    assert.deepEqual([form.status, form.body.error.metadata.error_type], [415, 'unsupported_media_type'])
  })
})

test('the audit is clean after all of it', async () => {
  const audit = await tollgate.admin('GET', '/admin/v1/audit')
  assert.equal(audit.body.violations, 0, audit.text)
})
