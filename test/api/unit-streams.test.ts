import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { audioForm, wavFile } from '../harness/audio-files.ts'
import { sendJson, startScriptedUpstream, answers } from '../harness/scripted-upstream.ts'
import { B64, DATA, errorOf, generous, PNG } from './images-world.ts'
import { checkBooks } from '../harness/money-check.ts'
import { movingGateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'

/** Images and transcripts as events: an answer that comes at once is sent when it is charged (clients.md 6). */

const upstream = await startScriptedUpstream({ forgets: true })
const server = await movingGateway({
  catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  one: { adapter: openai, base_url: "${upstream.url}/v1", api_key: k }
models:
  - { id: test/image, type: image, endpoints: [{ provider: one, model: any, price: { currency: RUB, image_output: 2, image: 0.1 } }] }
  - { id: test/ear, type: transcription, endpoints: [{ provider: one, model: gpt-4o-transcribe, price: { currency: RUB, prompt: 1000, completion: 2000 } }], max_completion_tokens: 1000 }
  - { id: test/whisper, type: transcription, endpoints: [{ provider: one, model: whisper-1, price: { currency: RUB, second: 0.01 } }] }
`,
})
const account = await server.createAccount({ balance: 1_000 })

function draw(body: Record<string, unknown>, path = '/v1/images/generations', headers = {}): Promise<Answer> {
  return server.request('POST', path, {
    key: account.key,
    body: { model: 'test/image', prompt: 'a cat', stream: true, ...body },
    headers,
  })
}

function hear(fields: Record<string, string>, path = '/v1/audio/transcriptions'): Promise<Answer> {
  return server.request('POST', path, {
    key: account.key,
    ...audioForm({ model: 'test/ear', stream: 'true', ...fields }, { bytes: wavFile(2) }),
  })
}

interface Event {
  readonly type: string
  readonly [name: string]: unknown
}

/** The name of each event is its type. */
function eventsOf(answer: Answer): readonly Event[] {
  return answer.text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => {
      const [, name, data = ''] = /^event: (\S+)\ndata: (.*)$/.exec(event) ?? assert.fail(event)
      const json: Event = JSON.parse(data)
      assert.equal(json.type, name)
      return json
    })
}

async function costOf(answer: Answer): Promise<unknown> {
  const { rows } = await checkBooks(server, account, 1_000)
  const row = rows.find((each) => each['generation_id'] === answer.headers['x-generation-id'])
  return [row?.['status'], row?.['total_cost']]
}

test('each picture is an event with its bytes, and the usage of all is in the last', async () => {
  upstream.answer(generous())
  const answer = await draw({ n: 2, partial_images: 3, quality: 'high' })
  assert.match(answer.headers['content-type'] ?? '', /^text\/event-stream/)
  const [first, second, ...more] = eventsOf(answer)
  assert.deepEqual(more, [])
  assert.equal(first?.type, 'image_generation.completed')
  assert.deepEqual([first['b64_json'], first['output_format'], first['usage']], [B64, 'png', undefined])
  assert.deepEqual(Object(second?.['usage']).cost, 4)
  assert.deepEqual(await costOf(answer), ['completed', 4])
  // The provider is asked only for the whole image: each partial one would be billed.
  assert.deepEqual(Object.keys(Object(upstream.received[0]?.json)).toSorted(), [
    'model',
    'n',
    'prompt',
    'response_format',
  ])
})

test('an edit has its own name, and an address is given where it is asked for', async () => {
  upstream.answer(generous())
  const answer = await draw({ image: DATA, response_format: 'url' }, '/v1/images/edits')
  const [event] = eventsOf(answer)
  assert.equal(event?.type, 'image_edit.completed')
  const kept = await fetch(String(event['url']))
  assert.deepEqual(Buffer.from(await kept.arrayBuffer()), PNG)
  assert.deepEqual(await costOf(answer), ['completed', 2.1])
  assert.deepEqual(errorOf(await draw({ image: DATA }, '/v1/images/variations')), [
    400,
    'streaming_not_supported',
    'Streaming is not supported by images/variations',
  ])
  assert.deepEqual(errorOf(await draw({ partial_images: 4 })).at(2), 'partial_images: must be an integer from 0 to 3')
  assert.deepEqual(errorOf(await draw({ stream: 'yes' })).at(2), 'stream: must be a boolean')
})

test('a stream with an X-Request-Id is numbered and can be read again', async () => {
  upstream.answer(generous())
  const headers = { 'x-request-id': 'again-1' }
  const { text } = await draw({}, '/v1/images/generations', headers)
  assert.match(text, /^id: 1\nevent: image_generation\.completed\n/)
  const again = await server.get('/v1/streams?id=again-1&after=0', account.key)
  assert.equal(again.text, text)
})

test('a failure is an HTTP error, or an event where the client has waited; both cost nothing', async () => {
  upstream.answer(answers({ error: { message: 'no' } }, 400))
  const refused = await draw({})
  assert.equal(refused.status, 400)
  assert.deepEqual(await costOf(refused), ['error', 0])

  let waiting: ServerResponse | null = null
  upstream.answer((response) => (waiting = response))
  const asked = draw({})
  await until(10_000, 'the request upstream', () => waiting !== null)
  await server.pass(12)
  sendJson(waiting ?? assert.fail(), { error: { message: 'no' } }, 400)
  const late = await asked
  assert.equal(late.status, 200)
  assert.match(late.text, /^: PROCESSING\n\n/)
  const [event] = eventsOf(late)
  assert.deepEqual([event?.type, Object(event?.['error']).code], ['error', 400])
  assert.deepEqual(await costOf(late), ['error', 0])
})

test('a transcript is a delta and an end with its usage', async () => {
  upstream.answer(
    answers({
      text: 'Hello there.',
      usage: {
        type: 'tokens',
        input_tokens: 20,
        output_tokens: 5,
        total_tokens: 25,
        input_token_details: { audio_tokens: 20, text_tokens: 0 },
      },
    }),
  )
  const answer = await hear({})
  assert.deepEqual(eventsOf(answer), [
    { type: 'transcript.text.delta', delta: 'Hello there.' },
    {
      type: 'transcript.text.done',
      text: 'Hello there.',
      usage: {
        type: 'tokens',
        input_tokens: 20,
        output_tokens: 5,
        total_tokens: 25,
        seconds: 2,
        cost: 0.03,
        currency: 'RUB',
      },
    },
  ])
  assert.deepEqual(await costOf(answer), ['completed', 0.03])
  upstream.answer(answers({ text: '', duration: 2 }))
  const silent = await hear({ model: 'test/whisper' })
  assert.deepEqual(
    eventsOf(silent).map(({ type }) => type),
    ['transcript.text.done'],
  )
  assert.deepEqual(await costOf(silent), ['completed', 0.02])
})

test('only JSON is streamed, and no translation', async () => {
  upstream.answer(generous())
  assert.deepEqual(errorOf(await hear({ response_format: 'text' })), [
    400,
    'invalid_response_format',
    'Invalid response_format: text is not streamed. Allowed with stream: json, diarized_json',
  ])
  assert.deepEqual(errorOf(await hear({ model: 'test/whisper' }, '/v1/audio/translations')).slice(0, 2), [
    400,
    'streaming_not_supported',
  ])
  assert.equal(upstream.received.length, 0)
})
