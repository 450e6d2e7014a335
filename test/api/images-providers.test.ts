import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sendJson, answers } from '../harness/scripted-upstream.ts'
import {
  B64,
  DATA,
  upstream,
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
import { candidate, completion } from '../harness/provider-answers.ts'

await serveImages()

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
    assert.equal(upstream.received[1]?.path, '/v1/images/edits')
    assert.deepEqual(sent(1)['image'], { url: 'https://example.com/a.png', type: 'image_url' })
    await draw({ model: 'v/words', image: 'https://example.com/a.png', input_references: [DATA] })
    assert.deepEqual(sent(2)['images'], [
      { url: 'https://example.com/a.png', type: 'image_url' },
      { url: DATA, type: 'image_url' },
    ])
    assert.equal((await draw({ model: 'v/words', image_config: { aspect_ratio: '21:9' } })).status, 400)
    assert.equal(upstream.received.length, 3)
  })
})

describe("Google's pictures", () => {
  test('Imagen: four at a time, in its own words', async () => {
    upstream.answer((response, { json }) => {
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
    assert.equal(upstream.received[0]?.path, '/v1beta/models/imagen-4.0-generate-001:predict')
    assert.equal(upstream.received[0]?.headers['x-goog-api-key'], 'k')
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
    upstream.answer(
      answers({
        predictions: [{ raiFilteredReason: 'against the rules' }, { mimeType: 'image/png', bytesBase64Encoded: B64 }],
      }),
    )
    assert.equal((await draw({ model: 'v/imagen', n: 2 })).body.usage.cost, 2)
    upstream.answer(answers({ predictions: [{ raiFilteredReason: 'against the rules' }] }))
    assert.deepEqual(errorOf(await draw({ model: 'v/imagen', n: 2 })), [400, 'content_filtered', 'against the rules'])
  })

  test('Gemini: one call a picture, tokens summed and charged', async () => {
    upstream.answer(
      answers(
        candidate([{ text: 'here' }, { inlineData: { mimeType: 'image/png', data: B64 } }], {
          promptTokenCount: 9,
          candidatesTokenCount: 1_290,
          totalTokenCount: 1_299,
        }),
      ),
    )
    const answer = await draw({
      model: 'v/gemini',
      n: 2,
      image: DATA,
      input_references: ['https://example.com/b.png'],
      image_config: { aspect_ratio: '21:9', image_size: '4K' },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(upstream.received.length, 2)
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
    upstream.answer(
      answers(
        candidate([{ text: 'I would rather not.' }], {
          promptTokenCount: 9,
          candidatesTokenCount: 5,
          totalTokenCount: 14,
        }),
      ),
    )
    assert.deepEqual(errorOf(await draw({ model: 'v/gemini' })), [
      502,
      'empty_response',
      'Empty response from provider',
    ])
    upstream.answer(
      answers({
        candidates: [{ finishReason: 'IMAGE_SAFETY' }],
        usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
      }),
    )
    const answer = await draw({ model: 'v/gemini' })
    refused(answer, 400, 'content_filtered')
  })
})

describe('chat models that answer with pictures', () => {
  const said = (images: unknown): unknown =>
    completion(
      { content: 'Here.', images },
      { usage: { prompt_tokens: 10, completion_tokens: 1_300, total_tokens: 1_310 } },
    )

  test('each picture is a separate chat', async () => {
    upstream.answer(answers(said([{ type: 'image_url', image_url: { url: DATA } }])))
    const answer = await draw({ model: 'v/chat', n: 2, size: '720x1280', image: 'https://example.com/a.png', seed: 3 })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(upstream.received[0]?.path, '/v1/chat/completions')
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
    refused(answer, 400, 'model_not_supported')
    upstream.answer(answers(said([])))
    assert.equal((await draw({ model: 'v/chat' })).status, 502)
    const { body } = await tollgate.get('/v1/images/models', key)
    const ids = body.data.map(({ id }: { id: string }) => id)
    assert.ok(ids.includes('v/chat') && !ids.includes('v/mute'))
    const record = (id: string): Record<string, unknown> => body.data.find((one: { id: string }) => one.id === id)
    const endpoints = record('v/chat')['supported_endpoints']
    assert.ok(
      Array.isArray(endpoints) && endpoints.includes('chat/completions') && endpoints.includes('images/generations'),
    )
    assert.deepEqual(record('v/any')['supported_endpoints'], ['images/generations'])
    const speaking = await tollgate.post('/v1/chat/completions', key, {
      model: 'v/any',
      messages: [{ role: 'user', content: 'x' }],
    })
    refused(speaking, 400, 'model_not_supported')
  })
})
