import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { HTTPClient, OpenRouter } from '@openrouter/sdk'
import { generateImage, NoImageGeneratedError } from 'ai'
import OpenAI, { toFile, APIError, BadRequestError } from 'openai'
import { PNG } from '../api/images-world.ts'
import { serveSandbox } from '../harness/gateway.ts'

const PNG_HEAD = '\x89PNG'

const { key, tollgate } = await serveSandbox('', 100)

function sizeOf(png: Buffer): string {
  assert.equal(png.toString('latin1', 0, 4), PNG_HEAD)
  return `${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`
}

describe('openai', () => {
  const client = (): OpenAI => new OpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1`, maxRetries: 0 })

  test('pictures by address: the address needs no key', async () => {
    const {
      data = [],
      usage,
      created,
    } = await client().images.generate({ model: 'sandbox/image', prompt: 'a cat', n: 3, size: '1536x1024' })
    assert.equal(data.length, 3)
    assert.ok(created > 1_700_000_000)
    assert.equal(usage?.total_tokens, 0)
    const answer = await fetch(data[2]?.url ?? '')
    assert.equal(answer.headers.get('content-type'), 'image/png')
    assert.equal(sizeOf(Buffer.from(await answer.arrayBuffer())), '1536x1024')
  })

  test('pictures in the answer', async () => {
    const { data = [] } = await client().images.generate({
      model: 'sandbox/image',
      prompt: 'a cat',
      size: '1024x1536',
      response_format: 'b64_json',
    })
    assert.equal(sizeOf(Buffer.from(data[0]?.b64_json ?? '', 'base64')), '1024x1536')
  })

  test('edits of one image and of several with a mask, and variations', async () => {
    const file = (name: string): Promise<File> => toFile(PNG, name, { type: 'image/png' })
    const edited = await client().images.edit({
      model: 'sandbox/image',
      prompt: 'a hat',
      image: await file('a.png'),
      size: '1024x1536',
      response_format: 'b64_json',
    })
    assert.equal(sizeOf(Buffer.from(edited.data?.[0]?.b64_json ?? '', 'base64')), '1024x1536')
    const { data = [] } = await client().images.edit({
      model: 'sandbox/image',
      prompt: 'a hat',
      image: [await file('a.png'), await file('b.png')],
      mask: await file('mask.png'),
      n: 2,
    })
    const answer = await fetch(data[1]?.url ?? '')
    assert.equal(sizeOf(Buffer.from(await answer.arrayBuffer())), '1024x1024')
    const varied = await client().images.createVariation({
      model: 'sandbox/image',
      image: await file('a.png'),
      n: 2,
      response_format: 'b64_json',
    })
    assert.equal(varied.data?.length, 2)
    assert.notEqual(varied.data?.[0]?.b64_json, edited.data?.[0]?.b64_json)
  })

  test('pictures as events: of a prompt, and of an edit', async () => {
    const drawn = await client().images.generate({
      model: 'sandbox/image',
      prompt: 'a cat',
      size: '1024x1536',
      stream: true,
      partial_images: 2,
    })
    const seen: string[] = []
    for await (const event of drawn) {
      seen.push(event.type)
      assert.equal(sizeOf(Buffer.from(event.b64_json, 'base64')), '1024x1536')
    }
    const edited = await client().images.edit({
      model: 'sandbox/image',
      prompt: 'a hat',
      image: await toFile(PNG, 'a.png', { type: 'image/png' }),
      stream: true,
    })
    for await (const event of edited) seen.push(event.type)
    assert.deepEqual(seen, ['image_generation.completed', 'image_edit.completed'])
  })

  test('errors are of the class the client has for their status', async () => {
    await assert.rejects(client().images.generate({ model: 'sandbox/image', prompt: 'x', n: 11 }), BadRequestError)
    await assert.rejects(
      client().images.generate({ model: 'sandbox/image', prompt: 'x\nsandbox: words=0' }),
      (error: unknown) => error instanceof APIError && error.status === 502,
    )
  })
})

describe('@openrouter/sdk', () => {
  test('the list of image models passes the strict schema', async () => {
    const client = new OpenRouter({ apiKey: key, serverURL: `${tollgate.url}/v1` })
    assert.ok(JSON.stringify(await client.images.listModels()).includes('sandbox/image'))
  })

  test('pictures in the answer pass the strict schema; by address they cannot, and the client has no word for the other mode', async () => {
    const imageGenerationRequest = { model: 'sandbox/image', prompt: 'a cat', n: 2, stream: false as const }
    const plain = new OpenRouter({
      apiKey: key,
      serverURL: `${tollgate.url}/v1`,
      retryConfig: { strategy: 'none' },
    })
    // wire.md D-2.3, a known gap: the default is an address.
    await assert.rejects(plain.images.generate({ imageGenerationRequest }), /validation failed/i)
    const httpClient = new HTTPClient({
      fetcher: async (input, init) => {
        const request = new Request(input, init)
        const body: unknown = await request.json()
        return fetch(request.url, {
          method: 'POST',
          headers: request.headers,
          body: JSON.stringify({ ...Object(body), response_format: 'b64_json' }),
        })
      },
    })
    const client = new OpenRouter({ apiKey: key, serverURL: `${tollgate.url}/v1`, httpClient })
    const answer = await client.images.generate({ imageGenerationRequest })
    assert.ok('data' in answer)
    assert.equal(answer.data.length, 2)
    assert.equal(sizeOf(Buffer.from(answer.data[1]?.b64Json ?? '', 'base64')), '1024x1024')
  })
})

describe('AI SDK', () => {
  test('generateImage: bytes, type and size', async () => {
    const model = createOpenAICompatible({
      name: 'tollgate',
      baseURL: `${tollgate.url}/v1`,
      apiKey: key,
    }).imageModel('sandbox/image')
    const { images } = await generateImage({ model, prompt: 'a cat', n: 2, size: '1280x720' })
    assert.deepEqual(
      images.map(({ mediaType, uint8Array }) => [mediaType, sizeOf(Buffer.from(uint8Array))]),
      [
        ['image/png', '1280x720'],
        ['image/png', '1280x720'],
      ],
    )
  })

  test('generateImage: no picture is an error', async () => {
    const model = createOpenAICompatible({
      name: 'tollgate',
      baseURL: `${tollgate.url}/v1`,
      apiKey: key,
    }).imageModel('sandbox/image')
    await assert.rejects(
      generateImage({ model, prompt: 'a cat\nsandbox: words=0', maxRetries: 0 }),
      (error: unknown) => error instanceof Error && !NoImageGeneratedError.isInstance(error),
    )
  })
})
