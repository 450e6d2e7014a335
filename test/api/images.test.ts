import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sendJson, type Received, answers } from '../harness/scripted-upstream.ts'
import {
  PNG,
  B64,
  DATA,
  upstream,
  second,
  tollgate,
  key,
  draw,
  sent,
  errorOf,
  logRow,
  generous,
  serveImages,
} from './images-world.ts'
import { refused } from '../harness/refused.ts'
import type { ServerResponse } from 'node:http'

await serveImages()

const USAGE = {
  total_tokens: 100,
  input_tokens: 50,
  output_tokens: 50,
  input_tokens_details: { text_tokens: 10, image_tokens: 40 },
}

async function balance(): Promise<number> {
  return (await tollgate.get('/v1/user/balance', key)).body.balance
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
    assert.equal(upstream.received[0]?.path, '/v1/images/generations')
    assert.equal(upstream.received[0]?.headers['authorization'], 'Bearer upstream-canary-key')
    const { user, ...body } = sent()
    assert.match(String(user), /^[\w-]{22}$/)
    assert.deepEqual(body, {
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
      response_format: 'b64_json',
    })
    assert.deepEqual(answer.body.data, [
      { b64_json: B64, media_type: 'image/png' },
      { b64_json: B64, media_type: 'image/png' },
    ])
    assert.deepEqual([answer.body.usage.images, answer.body.usage.cost], [2, 4])
  })

  test('tokens are charged exactly, by the price that was read; one row of the log', async () => {
    upstream.answer(
      answers({
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
    assert.equal(upstream.received.length, 4)
    // dall-e-3 has its own wide size.
    assert.deepEqual(sent(3), { model: 'dall-e-3', prompt: 'a cat', size: '1792x1024', response_format: 'b64_json' })
    assert.equal(answer.body.usage.cost, 8)
    assert.equal((await logRow(answer))['status'], 'completed')
  })

  test('some of those calls fail: the finished pictures are delivered and paid for', async () => {
    upstream.answer((response, request, count) =>
      count === 1 || count === 2
        ? sendJson(response, { error: { message: 'busy' } }, 500)
        : generous()(response, request, count),
    )
    const answer = await draw({ model: 'v/dall-e-3', n: 4 })
    assert.deepEqual(
      [answer.status, answer.body.data.length, answer.body.usage.images, answer.body.usage.cost],
      [200, 2, 2, 4],
    )
    upstream.answer(
      answers(
        { error: { message: 'Your prompt was rejected by our safety system', code: 'content_policy_violation' } },
        400,
      ),
    )
    const filtered = await draw({ model: 'v/dall-e-3', n: 4 })
    refused(filtered, 400, 'content_filtered')
  })

  test('more pictures than were asked for are not delivered and not charged', async () => {
    upstream.answer(answers({ data: [{ b64_json: B64 }, { b64_json: B64 }, { b64_json: B64 }] }))
    const answer = await draw({ n: 2 })
    assert.deepEqual([answer.body.data.length, answer.body.usage.cost], [2, 4])
  })

  test('undecodable pictures are not delivered: the next provider is asked, and without one it is a free 502', async () => {
    const before = await balance()
    const empty = (response: ServerResponse, request: Received): void =>
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
    upstream.answer(answers({ data: [{ b64_json: '***' }, { b64_json: B64 }, { b64_json: '' }] }))
    const answer = await draw({ n: 3 })
    assert.deepEqual([answer.body.data.length, answer.body.usage.images, answer.body.usage.cost], [1, 1, 2])
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
    const answer = await draw({ model: 'v/gpt', image_config: { aspect_ratio: '16:9' } })
    assert.deepEqual(errorOf(answer), [
      400,
      'invalid_input',
      'image_config: this provider makes pictures of 1024x1024, 1536x1024, 1024x1536',
    ])
  })

  test('pictures to start from are sent as files; an address is refused, for nothing is fetched', async () => {
    upstream.answer(answers({ data: [{ b64_json: B64 }], usage: USAGE }))
    const answer = await draw({ model: 'v/gpt', image: DATA, input_references: [DATA], n: 1, quality: 'high' })
    assert.equal(answer.status, 200, answer.text)
    const [request] = upstream.received
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
    const unfetched = await draw({ model: 'v/gpt', image: `${upstream.url}/secret.png` })
    assert.deepEqual(errorOf(unfetched), [
      400,
      'invalid_input',
      'image: this provider fetches no addresses. Send the image as a data URL in base64',
    ])
    assert.equal(upstream.received.length, 1)
  })

  test('a source image has its price, for each call', async () => {
    upstream.answer(generous())
    assert.equal((await draw({ image: DATA })).body.usage.cost, 2.1)
    assert.equal((await draw({ model: 'v/dall-e-3', image: DATA, n: 2 })).body.usage.cost, 4.2)
  })
})

describe('files that an answer names', () => {
  test("the provider's own are fetched, stored and served by us; data URLs are read", async () => {
    upstream.answer((response, request) => {
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
    assert.equal(upstream.received.filter(({ method }) => method === 'GET')[0]?.headers['authorization'], undefined)
    assert.equal((await draw({ n: 2 })).body.data[0].b64_json, B64)
  })

  test('nothing else in a private network is: neither by name, nor by number, nor by a redirect', async () => {
    const before = await balance()
    const port = new URL(second.url).port
    second.answer((response) => response.writeHead(200).end(PNG))
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
    upstream.answer((response, request) => {
      if (request.method === 'GET') response.writeHead(302, { location: `${second.url}/x` }).end()
      else sendJson(response, { data: addresses.map((url) => ({ url })) })
    })
    const answer = await draw({ n: 10 })
    assert.deepEqual(errorOf(answer), [502, 'empty_response', 'Empty response from provider'])
    assert.equal(second.received.length, 0)
    assert.equal(await balance(), before)
  })

  test('a drawing that holds scripts is served where none can run', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    upstream.answer(answers({ data: [{ b64_json: svg.toString('base64') }] }))
    const { body } = await draw({ response_format: 'url' })
    const served = await fetch(body.data[0].url)
    assert.equal(served.headers.get('content-type'), 'image/svg+xml')
    assert.match(served.headers.get('content-security-policy') ?? '', /default-src 'none'.*sandbox$/)
  })
})

describe('what the model cannot serve', () => {
  test('a prompt that is too long, an unsupported size and an unknown model are refused', async () => {
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
    refused(form, 415, 'unsupported_media_type')
  })
})
