import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { request } from 'undici'
import { form, isLong, oneOf } from '../../harness/form.ts'
import { startTollgate, type Tollgate } from '../../harness/server.ts'
import {
  isDownload,
  startVideoProvider,
  type VideoProvider,
  type VideoProviderRequest,
} from '../../harness/video-provider.ts'
import { balanceOf, createVideo, videoUntil } from '../../harness/video-jobs.ts'
import { paced, found } from '../../harness/patience.ts'
import { auditClean } from '../../harness/api-client.ts'
import { freshFolder } from '../../harness/lasting.ts'

const COMMAND = join(import.meta.dirname, '../../../bin/tollgate.js')
const COST = 6
const ROUNDS = form({ short: 2, long: 10 })

const dataDir = freshFolder()
/** The running server: each test kills it, and the next test begins with its store. */
let tollgate: Tollgate

const start = (): Promise<Tollgate> => startTollgate({ dataDir, catalog: catalog() })
const killed = (): Promise<void> => tollgate.kill('SIGKILL')

const provider = await startVideoProvider()
tollgate = await start()

after(() => killed())

function catalog(): string {
  return `
rate_limit: { requests: 100000, window: 60 }
providers: { film: { adapter: openai, base_url: '${provider.url}/v1', api_key: k } }
models: [{ id: test/film, type: video, supported_durations: [4], endpoints: [{ provider: film, model: sora, price: { currency: RUB, video_second: 1.5 } }] }]
`
}

const isPoll = (seen: VideoProviderRequest): boolean => seen.method === 'GET' && !isDownload(seen)

/** The step that the provider delays until the server is killed. */
interface Step {
  readonly name: string
  readonly holds: (seen: VideoProviderRequest) => boolean
  /** The provider's answer before it falls silent. */
  readonly says?: (
    provider: VideoProvider,
    response: Parameters<Parameters<VideoProvider['script']>[0] & object>[1],
  ) => void
  readonly end: 'completed' | 'parked'
}

const STEPS: readonly Step[] = [
  { name: 'the submission is under way', holds: ({ method }) => method === 'POST', end: 'parked' },
  {
    name: 'the submission is half answered',
    holds: ({ method }) => method === 'POST',
    says: (_provider, response) =>
      void response.writeHead(200, { 'content-type': 'application/json', 'content-length': 40 }).write('{"id":"video_'),
    end: 'parked',
  },
  { name: 'it is polled', holds: isPoll, end: 'completed' },
  { name: 'its video is asked for', holds: isDownload, end: 'completed' },
  {
    name: 'its video is half stored',
    holds: isDownload,
    says: ({ video }, response) =>
      void response
        .writeHead(200, { 'content-type': 'video/mp4', 'content-length': video.length })
        .write(video.subarray(0, 400)),
    end: 'completed',
  },
]

for (const { name, holds, says, end } of oneOf(2, STEPS)) {
  test(`kill -9 while ${name}: the same job goes on after the restart, submitted once`, async () => {
    const before = provider.submissions.length
    const { key } = await tollgate.createAccount({ balance: 100 })
    provider.script((seen, response) => {
      if (!holds(seen)) return false
      says?.(provider, response)
      return true
    })
    const arrived = provider.arrival(holds)
    const { id } = await createVideo(tollgate, key, { model: 'test/film', prompt: 'x' })
    await arrived
    await killed()
    provider.script(null)
    await auditStore()
    tollgate = await start()
    if (end === 'completed') {
      const done = await videoUntil(tollgate, key, id, 'completed', 30_000)
      assert.equal(done.usage.cost, COST)
      const answer = await request(`${tollgate.url}/v1/videos/${id}/content`, {
        headers: { authorization: `Bearer ${key}` },
      })
      assert.ok(Buffer.from(await answer.body.arrayBuffer()).equals(provider.video))
      assert.deepEqual(await balanceOf(tollgate, key), { balance: 100 - COST, reserved: 0 })
    } else {
      // Time for a second submission, if there was one.
      await videoUntil(
        tollgate,
        key,
        (await createVideo(tollgate, key, { model: 'test/film', prompt: 'another' })).id,
        'completed',
      )
      assert.equal((await tollgate.get(`/v1/videos/${id}`, key)).body.status, 'pending')
      assert.deepEqual(await balanceOf(tollgate, key), { balance: 100 - COST, reserved: COST })
    }
    await auditClean(tollgate)
    assert.equal(provider.submissions.length - before, end === 'completed' ? 1 : 2)
  })
}

test('kill -9 again and again, at any moment: every job ends once, is submitted at most once, and is charged exactly if it is completed', async () => {
  const before = provider.submissions.length
  const ids: string[] = []
  const { key } = await tollgate.createAccount({ balance: 1_000 })
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let index = 0; index < 3; index += 1) {
      const answer = await tollgate.post('/v1/videos', key, { model: 'test/film', prompt: `${round}-${index}` })
      if (answer.status === 202) ids.push(answer.body.id)
    }
    // The steps of a job take some milliseconds at its start, and again a second later.
    await paced(round % 2 === 0 ? round * 4 : 900 + round * 30, 'a death at another moment')
    await killed()
    tollgate = await start()
  }
  const ends = await ended(tollgate, key, ids)
  const completed = ends.filter((end) => end === 'completed').length
  const open = ends.length - completed
  assert.ok(completed > 0)
  assert.deepEqual(await balanceOf(tollgate, key), { balance: 1_000 - COST * completed, reserved: COST * open })
  const { total } = (await tollgate.get('/v1/generation', key)).body
  assert.equal(total, completed, 'one log row for each that ended')
  await auditClean(tollgate)
  const prompts = provider.submissions.slice(before).map(({ body }) => body?.['prompt'])
  assert.equal(new Set(prompts).size, prompts.length, 'no job was submitted twice')
  await killed()
  await auditStore()
})

const QUIET_MS = 4_000

/** The states of the jobs once they no longer change: parked ones stay pending. */
function ended(tollgate: Tollgate, key: string, ids: readonly string[]): Promise<readonly string[]> {
  let last = ''
  let sinceMs = performance.now()
  return found(60_000, 'every job has ended or is parked', async () => {
    const states: string[] = []
    for (const id of ids) states.push((await tollgate.get(`/v1/videos/${id}`, key)).body.status)
    if (states.join() !== last) sinceMs = performance.now()
    last = states.join()
    return !states.includes('in_progress') && performance.now() - sinceMs > QUIET_MS ? states : null
  })
}

/**
 * `tollgate audit` on the store as the dead process left it; in the short form the next server's own audit says the
 * same later.
 */
async function auditStore(): Promise<void> {
  if (!isLong) return
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, 'audit', '--json'], {
    cwd: dataDir,
    env: { PATH: process.env['PATH'], TOLLGATE_DATA: dataDir },
  })
  assert.equal(JSON.parse(stdout).violations, 0, stdout)
}
