import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { ImageModelV4, ImageModelV4CallOptions, ImageModelV4Result } from '@ai-sdk/provider'
import type { ImageResult } from '../../kinds/images/request.ts'
import { parseImages } from '../openai/client/images.ts'
import { systemClock } from '../../base/clock.ts'
import { endpoint } from '../../../test/harness/plan-fixture.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { sdkImages, type SdkImagesPorts } from './sdk-images.ts'
import type { SdkSettings } from './sdk-packages.ts'
import { FileFetch } from '../wire/file-fetch.ts'
import { Transport } from '../wire/transport.ts'
import { sendJson, startScriptedUpstream, answers } from '../../../test/harness/scripted-upstream.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1')

const files = new FileFetch()

const upstream = await startScriptedUpstream({ forgets: true })
const transport = new Transport(systemClock)

after(() => Promise.all([transport.close(), files.close()]))

type Draw = (options: ImageModelV4CallOptions, settings: SdkSettings) => Promise<ImageModelV4Result>

/** A package's model by the SDK's specification. */
function modelWith(
  settings: SdkSettings,
  maxImagesPerCall: ImageModelV4['maxImagesPerCall'],
  draw: Draw,
): ImageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'test.image',
    modelId: 'm',
    maxImagesPerCall,
    doGenerate: (options) => draw(options, settings),
  }
}

function packageOf(made: (settings: SdkSettings) => Promise<ImageModelV4>): SdkImagesPorts['packages'] {
  // Only models of pictures are asked of it.
  return { model: ((_kind, _endpoint, settings) => made(settings)) as SdkImagesPorts['packages']['model'] }
}

function made(images: string[] | Uint8Array[], fields: Partial<ImageModelV4Result> = {}): ImageModelV4Result {
  return { images, warnings: [], response: { timestamp: new Date(0), modelId: 'm', headers: undefined }, ...fields }
}

function ask(
  fields: Record<string, unknown>,
  most: ImageModelV4['maxImagesPerCall'],
  draw: Draw,
): Promise<ImageResult | AttemptFailure> {
  const base = endpoint('sdk')
  const images = sdkImages({
    packages: packageOf((settings) => Promise.resolve(modelWith(settings, most, draw))),
    transport,
    files,
  })
  const call = {
    endpoint: { ...base, provider: { ...base.provider, baseUrl: `${upstream.url}/v1` } },
    apiKey: 'k',
    request: parseImages({ model: 'm/x', prompt: 'a cat', ...fields }),
    generationId: 'gen-1-a',
    sizes: null,
    fetchesUrls: false,
  }
  return new Promise((resolve) => {
    images(call, { headers: () => undefined, result: resolve, fail: resolve })
  })
}

/** Posts as packages do: with the given fetch, and the key in a header. */
async function post({ fetch, baseURL, apiKey }: SdkSettings, path: string, body: unknown): Promise<Response> {
  return fetch(`${baseURL}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

function isResult(found: ImageResult | AttemptFailure): found is ImageResult {
  return 'images' in found
}

describe('pictures through a package', () => {
  test('the package gets the requested parameters in as many calls as it needs', async () => {
    upstream.answer(answers({ image: PNG.toString('base64') }))
    const seen: ImageModelV4CallOptions[] = []
    const found = await ask(
      {
        n: 3,
        size: '1280x720',
        seed: 7,
        image: `data:image/png;base64,${PNG.toString('base64')}`,
        input_references: ['https://example.com/a.png'],
      },
      () => Promise.resolve(2),
      async (options, settings) => {
        seen.push(options)
        // The upstream of this file answers in this form.
        const { image } = (await (await post(settings, '/draw', { n: options.n })).json()) as { image: string }
        return made(
          Array.from({ length: options.n }, () => image),
          {
            usage: { inputTokens: 5, outputTokens: 10, totalTokens: 15 },
            providerMetadata: { test: { images: [{ revisedPrompt: 'a nicer cat' }] } },
          },
        )
      },
    )
    assert.ok(isResult(found), JSON.stringify(found))
    assert.deepEqual(
      found.images.map(({ picture, revisedPrompt }) => [picture.mediaType, picture.bytes.equals(PNG), revisedPrompt]),
      [
        ['image/png', true, 'a nicer cat'],
        ['image/png', true, null],
        ['image/png', true, 'a nicer cat'],
      ],
    )
    assert.deepEqual([found.calls, found.usage?.report.inputTokens, found.usage?.report.outputTokens], [2, 10, 20])
    assert.deepEqual(
      seen.map(({ n }) => n).toSorted((left, right) => left - right),
      [1, 2],
    )
    assert.deepEqual(
      [seen[0]?.prompt, seen[0]?.size, seen[0]?.aspectRatio, seen[0]?.seed, seen[0]?.mask],
      ['a cat', '1280x720', '16:9', 7, undefined],
    )
    assert.deepEqual(seen[0]?.files, [
      { type: 'file', mediaType: 'image/png', data: PNG.toString('base64') },
      { type: 'url', url: 'https://example.com/a.png' },
    ])
    assert.equal(upstream.received[0]?.headers['authorization'], 'Bearer k')
  })

  test('a package may post a form, ask after its job and fetch its file; a model without a limit makes one', async () => {
    upstream.answer((response, request) => {
      if (request.path === '/v1/jobs') sendJson(response, { id: 'j' })
      else if (request.path === '/v1/jobs/j') sendJson(response, { file: `${upstream.url}/f` })
      else response.writeHead(200).end(PNG)
    })
    const found = await ask({ n: 2 }, undefined, async ({ n }, settings) => {
      assert.equal(n, 1)
      const form = new FormData()
      form.append('prompt', 'x')
      await settings.fetch(`${settings.baseURL}/jobs`, {
        method: 'POST',
        headers: { authorization: 'Bearer k' },
        body: form,
      })
      const state = await settings.fetch(`${settings.baseURL}/jobs/j`, { headers: { authorization: 'Bearer k' } })
      // The upstream of this file answers in this form.
      const { file } = (await state.json()) as { file: string }
      return made([new Uint8Array(await (await settings.fetch(file)).arrayBuffer())])
    })
    assert.ok(isResult(found), JSON.stringify(found))
    assert.equal(found.images.length, 2)
    assert.equal(found.usage, null)
    assert.match(
      String(upstream.received.find(({ path }) => path === '/v1/jobs')?.headers['content-type']),
      /^multipart\/form-data; boundary=/,
    )
    assert.equal(upstream.received.find(({ path }) => path === '/v1/jobs/j')?.headers['authorization'], 'Bearer k')
  })

  test("the provider's own error is the failure, whatever the package makes of it; the key leaves for no other address", async () => {
    upstream.answer(answers({ error: { message: 'slow down' } }, 429))
    const busy = await ask({}, 1, async (_options, settings) => {
      await post(settings, '/draw', {}).catch(() => {
        throw new Error('the package is unhappy')
      })
      return made([])
    })
    assert.ok(!isResult(busy))
    assert.deepEqual([busy.reason, busy.status], ['status', 429])
    for (const address of ['http://127.0.0.1:1/v1/draw', 'https://evil.example/v1/draw']) {
      const left = await ask({}, 1, async (_options, settings) =>
        made([await (await post({ ...settings, baseURL: address }, '', {})).text()]),
      )
      assert.ok(!isResult(left))
      assert.equal(upstream.received.length, 1)
    }
    const inside = await ask({}, 1, async (_options, settings) =>
      made([await (await settings.fetch('http://127.0.0.1:1/secret')).text()]),
    )
    assert.ok(!isResult(inside))
    assert.equal(inside.reason, 'garbage')
  })

  test('a package without models of pictures sends nothing, and one that makes none brings none', async () => {
    const images = sdkImages({
      packages: packageOf(() => Promise.reject(new Error('x makes no image models'))),
      transport,
      files,
    })
    const failed = await new Promise<ImageResult | AttemptFailure>((resolve) => {
      images(
        {
          endpoint: endpoint('sdk'),
          apiKey: null,
          request: parseImages({ model: 'm/x', prompt: 'x' }),
          generationId: 'gen-1-a',
          sizes: null,
          fetchesUrls: false,
        },
        { headers: () => undefined, result: resolve, fail: resolve },
      )
    })
    assert.ok(!isResult(failed))
    assert.equal(failed.reason, 'connect')
    const none = await ask({}, 1, () => Promise.resolve(made(['', '***'])))
    assert.ok(isResult(none))
    assert.deepEqual(none.images, [])
  })
})
