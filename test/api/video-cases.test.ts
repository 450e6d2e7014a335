import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { request } from 'undici'
import { gateway } from '../harness/gateway.ts'
import { recordedCase, type RecordedCase } from '../harness/recording.ts'
import { startReplayUpstream, type SeenRequest } from '../harness/replay.ts'
import { balanceOf, createVideo, videoUntil } from '../harness/video-jobs.ts'
import { found } from '../harness/patience.ts'

const LIMIT_MS = 40_000
const VERSION = '39ed52f2a78e934b3ba6e2a89f5b1c712de7dfea535525255b1aa35c5565e08b'

const XAI = recordedCase('xai/videos/grok-imagine-create-poll-download')
const PROMPT = String(Object(XAI.steps[0]?.request?.body).prompt)

/** A recorded case, and the required end of its job. */
interface JobCase {
  readonly name: string
  readonly adapter: 'openai' | 'replicate'
  readonly upstreamModel: string
  /** More keys of the provider's catalogue row. */
  readonly providerFields?: string
  readonly end: 'completed' | 'failed' | 'in_progress' | 'parked'
  readonly errorType?: string
  /** Path after the case's own prefix. */
  readonly submittedTo: string
  /** Polled while it runs, by the provider's id. */
  readonly polledUnder?: string
  readonly pollsMin?: number
}

const CASES: readonly JobCase[] = [
  {
    name: 'xai/videos/grok-imagine-create-poll-download',
    adapter: 'openai',
    upstreamModel: 'grok-imagine-video',
    providerFields: ', dialect: { videos: xai }',
    end: 'completed',
    submittedTo: '/v1/videos/generations',
    polledUnder: '/v1/videos',
    pollsMin: 6,
  },
  {
    name: 'openai/videos/doc-sora-create',
    adapter: 'openai',
    upstreamModel: 'sora-2',
    end: 'in_progress',
    submittedTo: '/v1/videos',
    polledUnder: '/v1/videos',
    pollsMin: 1,
  },
  // A list is no answer to a submission: whether there is a job is unknown.
  {
    name: 'openai/videos/doc-sora-list',
    adapter: 'openai',
    upstreamModel: 'sora-2',
    end: 'parked',
    submittedTo: '/v1/videos',
  },
  // Its file is at an address that no test reaches: it is fetched again and again, and nothing is charged.
  {
    name: 'replicate/jobs/run-poll-until-succeeded',
    adapter: 'replicate',
    upstreamModel: `stability-ai/sdxl:${VERSION}`,
    end: 'in_progress',
    submittedTo: '/v1/predictions',
    polledUnder: '/v1/predictions',
    pollsMin: 6,
  },
  {
    name: 'replicate/jobs/create-blocking-wait',
    adapter: 'replicate',
    upstreamModel: 'meta/meta-llama-3-8b-instruct',
    end: 'in_progress',
    submittedTo: '/v1/models/meta/meta-llama-3-8b-instruct/predictions',
  },
  {
    name: 'replicate/jobs/create-then-cancel',
    adapter: 'replicate',
    upstreamModel: 'meta/llama-2-70b-chat',
    end: 'in_progress',
    submittedTo: '/v1/models/meta/llama-2-70b-chat/predictions',
  },
  {
    name: 'replicate/jobs/image-prediction-poll',
    adapter: 'replicate',
    upstreamModel: VERSION,
    end: 'in_progress',
    submittedTo: '/v1/predictions',
  },
  {
    name: 'replicate/jobs/llama-stream-multi-line-data',
    adapter: 'replicate',
    upstreamModel: 'meta/llama-2-70b-chat',
    end: 'in_progress',
    submittedTo: '/v1/models/meta/llama-2-70b-chat/predictions',
  },
  {
    name: 'replicate/jobs/error-401-problem-json',
    adapter: 'replicate',
    upstreamModel: VERSION,
    end: 'failed',
    errorType: 'provider_error',
    submittedTo: '/v1/predictions',
  },
]

const replay = await startReplayUpstream()
const providers = CASES.map(
  ({ name, adapter, providerFields = '' }, index) =>
    `  case-${index}: { adapter: ${adapter}, base_url: '${replay.url}/case;run=videos-${index}/${name}/v1', api_key: upstream-canary-key${providerFields} }`,
)
const models = CASES.map(
  ({ upstreamModel }, index) =>
    `  - { id: test/case-${index}, type: video, endpoints: [{ provider: case-${index}, model: '${upstreamModel}', price: { currency: RUB, video_second: 1.5 } }] }`,
)
const tollgate = await gateway({
  catalog: `rate_limit: { requests: 100000, window: 60 }\nproviders:\n${providers.join('\n')}\nmodels:\n${models.join('\n')}\n`,
})
const key = (await tollgate.createAccount({ balance: 1_000 })).key

/** The job's name in the first answer. */
function idOf({ body }: RecordedCase): string {
  const { id, request_id: requestId = id } = JSON.parse(body.toString('utf8'))
  return requestId
}

async function seenOf(name: string): Promise<readonly SeenRequest[]> {
  return (await replay.requests()).filter((seen) => seen.case === name)
}

test('every recorded case of jobs and videos is among those below', () => {
  const recorded = replay.cases
    .filter(({ name }) => ['jobs', 'videos'].includes(name.split('/')[1] ?? ''))
    .map(({ name }) => name)
  assert.deepEqual(new Set(CASES.map(({ name }) => name)), new Set(recorded))
})

// They mostly wait for the next poll of a job.
describe('recorded jobs', { concurrency: true }, () => {
  for (const [index, { name, upstreamModel, end, errorType, submittedTo, polledUnder, pollsMin }] of CASES.entries()) {
    test(`${name}: ${end}`, { timeout: 90_000 }, async () => {
      const account = await tollgate.createAccount({ balance: 100 })
      const { id } = await createVideo(tollgate, account.key, {
        model: `test/case-${index}`,
        prompt: PROMPT,
        duration: 1,
        resolution: '480p',
      })
      if (end === 'completed' || end === 'failed') {
        const record = await videoUntil(tollgate, account.key, id, end, 60_000)
        assert.equal(record.error_type, errorType)
        assert.doesNotMatch(JSON.stringify(record), /upstream-canary-key|authentication token/)
      } else if (end === 'parked') {
        await found(LIMIT_MS, 'it is parked', async () =>
          tollgate.logs().some((line) => line.includes(id) && line.includes('parked')) ? true : null,
        )
        assert.equal((await tollgate.get(`/v1/videos/${id}`, account.key)).body.status, 'pending')
      } else await videoUntil(tollgate, account.key, id, 'in_progress')
      if (pollsMin !== undefined)
        await found(LIMIT_MS, 'it is polled', async () =>
          (await seenOf(name)).filter(
            ({ method, path }) => method === 'GET' && path.endsWith(`${polledUnder}/${idOf(recordedCase(name))}`),
          ).length >= pollsMin
            ? true
            : null,
        )
      const seen = await seenOf(name)
      const submissions = seen.filter(({ method }) => method === 'POST')
      assert.equal(submissions.length, 1, 'submitted once')
      assert.ok(submissions[0]?.path.endsWith(submittedTo), submissions[0]?.path)
      assert.equal(submissions[0]?.headers['authorization'], 'Bearer upstream-canary-key')
      checkBody(name, upstreamModel, submissions[0]?.json)
      const paid = end === 'completed' ? 1.5 : 0
      const held = end === 'in_progress' || end === 'parked' ? 1.5 : 0
      assert.deepEqual(await balanceOf(tollgate, account.key), { balance: 100 - paid, reserved: held })
    })
  }
})

/** The recorded request, as far as it is about a video. */
function checkBody(name: string, upstreamModel: string, sent: unknown): void {
  if (name.startsWith('xai/')) {
    return assert.deepEqual(sent, XAI.steps[0]?.request?.body)
  }
  if (name.startsWith('openai/')) return assert.deepEqual(sent, { model: 'sora-2', prompt: PROMPT, seconds: '1' })
  const version = upstreamModel.includes(':')
    ? upstreamModel.split(':')[1]
    : /^[0-9a-f]{64}$/.test(upstreamModel)
      ? upstreamModel
      : undefined
  assert.deepEqual(sent, {
    ...(version === undefined ? {} : { version }),
    input: { prompt: PROMPT, duration: 1, resolution: '480p' },
  })
}

test('the recorded video arrives byte for byte', async () => {
  const { id } = await createVideo(tollgate, key, { model: 'test/case-0', prompt: 'x', duration: 1 })
  await videoUntil(tollgate, key, id, 'completed')
  const answer = await request(`${tollgate.url}/v1/videos/${id}/content`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  assert.ok(bytes.equals(XAI.steps.at(-1)?.body ?? Buffer.alloc(0)))
  assert.equal(answer.headers['content-type'], 'video/mp4')
})
