import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseMultipart } from '../../src/http/multipart.ts'
import type { Answer } from '../harness/api-client.ts'
import { sendJson, startScriptedUpstream, answers } from '../harness/scripted-upstream.ts'
import { B64, DATA, errorOf, generous, PNG } from './images-world.ts'
import { checkBooks } from '../harness/money-check.ts'
import { serve } from '../harness/gateway.ts'
import { candidate } from '../harness/provider-answers.ts'

const EDITS = '/v1/images/edits'
const VARIATIONS = '/v1/images/variations'
const JPEG = Buffer.concat([Buffer.from('\xff\xd8\xff\xe0', 'latin1'), Buffer.alloc(40)])

const { account, key, tollgate, upstream } = await serve(
  () => startScriptedUpstream({ forgets: true }),
  ({ url }) => `
bundled: false
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  one: { name: One, adapter: openai, base_url: "${url}/v1", api_key: k }
  two: { name: Two, adapter: openai, base_url: "${url}/two/v1", api_key: k }
  google: { name: Google, adapter: gemini, base_url: "${url}/v1beta", api_key: k }
models:
  - { id: v/any, type: image, endpoints: [{ provider: one, model: any, price: { currency: RUB, image_output: { 1024x1024: 2, hd: 2 }, image: 0.1 } }] }
  - { id: v/gpt, type: image, max_completion_tokens: 4160, endpoints: [{ provider: one, model: gpt-image-1, price: { currency: RUB, prompt: 10, completion: 40 } }] }
  - { id: v/dall-e-3, type: image, endpoints: [{ provider: one, model: dall-e-3, price: { currency: RUB, image_output: 2 } }] }
  - { id: v/gemini, type: image, max_completion_tokens: 8192, endpoints: [{ provider: google, model: gemini-2.5-flash-image, price: { currency: RUB, prompt: 30, completion: 3000 } }] }
  - { id: v/chat, type: chat, context_length: 32768, max_completion_tokens: 8192, input_modalities: [text, image], output_modalities: [image, text], endpoints: [{ provider: one, model: speaks, price: { currency: RUB, prompt: 30, completion: 3000 } }] }
  - { id: v/bound, type: image, max_completion_tokens: 4160, endpoints: [{ provider: one, model: gpt-image-1, price: { currency: RUB, prompt: 100000, completion: 40 } }] }
  - id: v/part
    type: image
    endpoints:
      - { provider: one, model: dall-e-3, price: { currency: RUB, image_output: 1 } }
      - { provider: two, model: any, price: { currency: RUB, image_output: 3 } }
`,
)

type Files = readonly (readonly [field: string, bytes: Buffer])[]

/** As OpenAI's clients send it. */
async function send(path: string, fields: Readonly<Record<string, string>>, files: Files): Promise<Answer> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  for (const [name, bytes] of files) form.append(name, new Blob([new Uint8Array(bytes)]), 'a.png')
  const encoded = new Response(form)
  return tollgate.request('POST', path, {
    key,
    body: Buffer.from(await encoded.arrayBuffer()),
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
  })
}

function edit(fields: Readonly<Record<string, string>>, files: Files = [['image', PNG]]): Promise<Answer> {
  return send(EDITS, { model: 'v/any', prompt: 'a hat on it', response_format: 'b64_json', ...fields }, files)
}

function sentForm(index = 0): { path: string; fields: Record<string, string>; files: readonly string[] } {
  const { path, headers, body } = upstream.received[index] ?? assert.fail('nothing was sent')
  const { fields, files } = parseMultipart(String(headers['content-type']), body, 17)
  return {
    path,
    // A name goes out in a form of ours.
    fields: Object.fromEntries(
      fields.map(([name, value]) => [name, name === 'user' ? value.length.toString() : value]),
    ),
    files: files.map(
      ({ field, fileName, contentType, bytes }) => `${field} ${fileName} ${contentType} ${bytes.length}`,
    ),
  }
}

async function costOf(answer: Answer): Promise<unknown> {
  const { rows } = await checkBooks(tollgate, account, 1_000)
  const row = rows.find((each) => each['generation_id'] === answer.headers['x-generation-id'])
  return [row?.['type'], row?.['status'], row?.['total_cost']]
}

describe('edits', () => {
  test('several images and a mask go up as files, and each image has its price', async () => {
    upstream.answer(generous())
    const answer = await edit({ size: '1536x1024', user: 'u' }, [
      ['image[]', PNG],
      ['image[]', JPEG],
      ['mask', PNG],
    ])
    assert.equal(answer.body.data[0].b64_json, B64)
    assert.deepEqual(sentForm(), {
      path: '/v1/images/edits',
      fields: { model: 'any', prompt: 'a hat on it', size: '1536x1024', user: '22', response_format: 'b64_json' },
      files: [
        `image[] image-0.png image/png ${PNG.length}`,
        `image[] image-1.jpeg image/jpeg ${JPEG.length}`,
        `mask mask.png image/png ${PNG.length}`,
      ],
    })
    assert.equal(answer.body.usage.cost, 2.2)
    assert.deepEqual(await costOf(answer), ['image', 'completed', 2.2])
  })

  test('a form counts its numbers, and an address is the default', async () => {
    upstream.answer((response, { body }) =>
      sendJson(response, {
        data: Array.from({ length: body.includes('name="n"\r\n\r\n3') ? 3 : 0 }, () => ({ b64_json: B64 })),
      }),
    )
    const answer = await send(EDITS, { model: 'v/any', prompt: 'x', n: '3' }, [['image', PNG]])
    assert.equal(answer.body.data.length, 3)
    assert.equal(answer.body.usage.cost, 6.1)
    const kept = await fetch(answer.body.data[2].url)
    assert.deepEqual(Buffer.from(await kept.arrayBuffer()), PNG)
    assert.match(errorOf(await edit({ n: 'two' })).toString(), /n: must be an integer from 1 to 10/)
  })

  test('JSON: an address, a data URL, objects with one, a list', async () => {
    upstream.answer(generous())
    const ask = (fields: Record<string, unknown>): Promise<Answer> =>
      tollgate.post(EDITS, key, { model: 'v/any', prompt: 'x', ...fields })
    for (const image of [DATA, [DATA], { image_url: DATA }, [{ image_url: { url: DATA } }]])
      assert.equal((await ask({ image })).status, 200)
    assert.equal(
      (await ask({ images: [{ image_url: DATA }, { image_url: DATA }], mask: { image_url: DATA } })).status,
      200,
    )
    assert.deepEqual(
      sentForm(4).files.map((file) => file.split(' ')[0]),
      ['image[]', 'image[]', 'mask'],
    )
    assert.deepEqual(errorOf(await ask({})), [400, 'missing_input', "Parameter 'image' is required"])
    assert.deepEqual(errorOf(await ask({ image: { file_id: 'file-1' } })), [
      400,
      'invalid_input',
      'image: must be an http or https URL or a data URL of an image',
    ])
    assert.equal(upstream.received.length, 5)
  })

  test('tokens of the images are held for and charged as reported', async () => {
    const usage = {
      input_tokens: 1_100,
      output_tokens: 1_056,
      input_tokens_details: { image_tokens: 1_088, text_tokens: 12 },
    }
    upstream.answer(generous(usage))
    const answer = await edit({ model: 'v/gpt', quality: 'high', input_fidelity: 'high' })
    assert.deepEqual(sentForm().fields, {
      model: 'gpt-image-1',
      prompt: 'a hat on it',
      quality: 'high',
      input_fidelity: 'high',
    })
    assert.deepEqual(answer.body.usage.input_tokens_details, { text_tokens: 12, image_tokens: 1_088 })
    assert.deepEqual(await costOf(answer), ['image', 'completed', 0.05324])
    upstream.answer(generous())
    await edit({ input_fidelity: 'high' })
    assert.equal(sentForm().fields['input_fidelity'], undefined, 'nothing pays for it where a picture has one price')
    // 6,500 tokens of an image and as many of the mask, at 0.1 RUB each, exceed the balance.
    const dear = await edit({ model: 'v/bound' }, [
      ['image', PNG],
      ['mask', PNG],
    ])
    assert.equal(dear.status, 402)
  })

  test('Gemini is shown the images; a mask is refused before anything is asked', async () => {
    upstream.answer(
      answers(
        candidate([{ inlineData: { mimeType: 'image/png', data: B64 } }], {
          promptTokenCount: 300,
          candidatesTokenCount: 1_290,
          totalTokenCount: 1_590,
        }),
      ),
    )
    const answer = await edit({ model: 'v/gemini' }, [
      ['image[]', PNG],
      ['image[]', JPEG],
    ])
    const sent = JSON.stringify(upstream.received[0]?.json)
    assert.ok(sent.includes(B64) && sent.includes(JPEG.toString('base64')))
    assert.deepEqual(await costOf(answer), ['image', 'completed', 3.879])
    for (const model of ['v/gemini', 'v/chat', 'v/dall-e-3']) {
      const refused = await edit({ model }, [
        ['image', PNG],
        ['mask', PNG],
      ])
      assert.deepEqual(errorOf(refused), [
        400,
        'invalid_input',
        `mask: no provider of model '${model}' takes a mask. Allowed: an edit without one`,
      ])
    }
    assert.equal(upstream.received.length, 1)
  })

  test('each wrong form has its reason, and costs nothing', async () => {
    upstream.answer(generous())
    const cases: readonly (readonly [Promise<Answer>, string])[] = [
      [edit({}, []), "Parameter 'image' is required"],
      [edit({}, [['mask', PNG]]), "Parameter 'image' is required"],
      [edit({ model: '' }), "Parameter 'model' is required"],
      [edit({ prompt: ' ' }), "Parameter 'prompt' is required"],
      [edit({}, [['image', Buffer.from('hello')]]), "File upload failed: the file in field 'image' is no image"],
      [edit({}, [['image', Buffer.alloc(0)]]), "File upload failed: the file in field 'image' is empty"],
      [
        edit({}, [['picture', PNG]]),
        "File upload failed: a file must be in field 'image', 'image[]' or 'mask', got 'picture'",
      ],
      [
        edit({}, [
          ['image', PNG],
          ['mask', PNG],
          ['mask', PNG],
        ]),
        "File upload failed: more than one file is in field 'mask'",
      ],
      [
        edit(
          {},
          Array.from({ length: 17 }, () => ['image[]', PNG]),
        ),
        'image: must be at most 16 images, got 17',
      ],
      [
        edit(
          {},
          Array.from({ length: 18 }, () => ['image[]', PNG]),
        ),
        'File upload failed: more than 17 files were sent',
      ],
      [
        edit({ size: '10x10' }),
        'size: must be one of 1024x1024, 1024x768, 768x1024, 1280x720, 720x1280, 1536x1024, 1024x1536',
      ],
      [edit({ input_fidelity: 'odd' }), 'input_fidelity: must be one of low, high'],
    ]
    for (const [answer, message] of cases) assert.deepEqual(errorOf(await answer).at(2), message)
    assert.equal(upstream.received.length, 0)
    await checkBooks(tollgate, account, 1_000)
  })

  test('hostile answers cost nothing', async () => {
    for (const body of [
      '{"data":[{"b64_json":',
      '{"data":[{"b64_json":7}]}',
      '{"data":{}}',
      '[]',
      '{"data":[{"b64_json":"%%"}]}',
    ]) {
      upstream.answer((response) => response.writeHead(200, { 'content-type': 'application/json' }).end(body))
      const answer = await edit({})
      assert.equal(answer.status, 502, body)
      assert.deepEqual(await costOf(answer), ['image', 'error', 0])
    }
    upstream.answer((response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":[')
      response.destroy()
    })
    assert.ok([502, 503].includes((await edit({})).status))
    await checkBooks(tollgate, account, 1_000)
  })
})

describe('variations', () => {
  test('one image and no prompt', async () => {
    upstream.answer(generous())
    const answer = await send(
      VARIATIONS,
      { model: 'v/any', size: '1024x1024', response_format: 'b64_json', user: 'u' },
      [['image', PNG]],
    )
    assert.deepEqual(sentForm(), {
      path: '/v1/images/variations',
      fields: { model: 'any', size: '1024x1024', user: '22', response_format: 'b64_json' },
      files: [`image image-0.png image/png ${PNG.length}`],
    })
    assert.deepEqual(await costOf(answer), ['image', 'completed', 2.1])
  })

  test('only a provider that has them is asked; where none has, it is said', async () => {
    upstream.answer(generous())
    const vary = (model: string, files: Files = [['image', PNG]]): Promise<Answer> => send(VARIATIONS, { model }, files)
    const answer = await vary('v/part')
    assert.equal(upstream.received[0]?.path, '/two/v1/images/variations')
    assert.deepEqual(await costOf(answer), ['image', 'completed', 3])
    for (const model of ['v/dall-e-3', 'v/gpt', 'v/gemini', 'v/chat'])
      assert.deepEqual(errorOf(await vary(model)), [
        400,
        'model_not_supported',
        `Model '${model}' does not support images/variations. Supported: images/generations, images/edits`,
      ])
    assert.equal(errorOf(await vary('v/any', [])).toString(), "400,missing_input,Parameter 'image' is required")
    const two: Files = [
      ['image[]', PNG],
      ['image[]', PNG],
    ]
    assert.match(errorOf(await vary('v/any', two)).toString(), /image: must be one image, got 2/)
    const masked: Files = [
      ['image', PNG],
      ['mask', PNG],
    ]
    assert.match(errorOf(await vary('v/any', masked)).toString(), /mask: is not allowed for a variation/)
    assert.equal(upstream.received.length, 1)
    await checkBooks(tollgate, account, 1_000)
  })
})
