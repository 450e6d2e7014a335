import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { request } from 'undici'
import { startPostgres, type Postgres } from '../harness/postgres.ts'
import { startTollgate } from '../harness/server.ts'
import { isDownload, json, startVideoProvider } from '../harness/video-provider.ts'
import { balanceOf, createVideo, videoUntil } from '../harness/video-jobs.ts'
import { auditClean } from '../harness/api-client.ts'

const JOBS = 12
const COST = 6
const server = await startPostgres()

if (server === null) test.skip('video jobs on two nodes: no PostgreSQL on this machine')
else twoNodes(server)

async function twoNodes(postgres: Postgres): Promise<void> {
  const provider = await startVideoProvider()
  const env = { DATABASE_URL: postgres.url, TOLLGATE_KEK: randomBytes(32).toString('base64') }
  const one = await startTollgate({
    env,
    catalog: `
rate_limit: { requests: 100000, window: 60 }
providers: { film: { adapter: openai, base_url: '${provider.url}/v1', api_key: k } }
models: [{ id: test/film, type: video, supported_durations: [4], endpoints: [{ provider: film, model: sora, price: { currency: RUB, video_second: 1.5 } }] }]
`,
  })
  const two = await startTollgate({ env })
  const key = (await one.createAccount({ balance: 1_000 })).key

  after(async () => {
    await Promise.all([one.stop(), two.stop()])
    await postgres.stop()
  })

  const jobOf = (path: string): string => /\/videos\/([^/?]+)/.exec(path)?.[1] ?? ''

  test(
    'two nodes: each job is submitted once, polled by one node at a time and charged once',
    { timeout: 120_000 },
    async () => {
      const under = new Set<string>()
      provider.script((seen, response) => {
        if (seen.method !== 'GET') return false
        const name = `${seen.path}`
        assert.ok(!under.has(name), `${name} is asked for twice at once`)
        under.add(name)
        response.once('close', () => under.delete(name))
        return false
      })
      const nodes = [one, two]
      const created = await Promise.all(
        Array.from({ length: JOBS }, (_value, index) =>
          createVideo(nodes[index % 2] ?? one, key, { model: 'test/film', prompt: `job ${index}` }),
        ),
      )
      // Each is read from the other node too.
      for (const [index, { id }] of created.entries())
        assert.equal((await videoUntil(nodes[(index + 1) % 2] ?? two, key, id, 'completed', 60_000)).usage.cost, COST)
      const prompts = provider.submissions.map(({ body }) => body?.['prompt'])
      assert.equal(prompts.length, JOBS)
      assert.equal(new Set(prompts).size, JOBS)
      const polls = Map.groupBy(provider.polls, ({ path }) => jobOf(path))
      assert.equal(polls.size, JOBS)
      for (const [id, seen] of polls) assert.equal(seen.length, 2, `${id} was polled ${seen.length} times`)
      assert.equal(provider.downloads.length, JOBS)
      assert.deepEqual(await balanceOf(two, key), { balance: 1_000 - JOBS * COST, reserved: 0 })
      await auditClean(one)
    },
  )

  test(
    'a node that is killed leaves its jobs to the other, which serves their videos',
    { timeout: 120_000 },
    async () => {
      let held = true
      provider.script(
        (seen, response) =>
          seen.method === 'GET' &&
          !isDownload(seen) &&
          held &&
          json(response, 200, { id: 'x', status: 'in_progress', progress: 10 }),
      )
      const submitted = provider.submissions.length
      const jobs = await Promise.all(
        Array.from({ length: 4 }, (_value, index) =>
          createVideo(one, key, { model: 'test/film', prompt: `left ${index}` }),
        ),
      )
      for (const { id } of jobs) await videoUntil(one, key, id, 'in_progress')
      await one.kill('SIGKILL')
      held = false
      for (const { id } of jobs) {
        await videoUntil(two, key, id, 'completed', 90_000)
        const answer = await request(`${two.url}/v1/videos/${id}/content`, {
          headers: { authorization: `Bearer ${key}`, range: 'bytes=4-11' },
        })
        assert.deepEqual([answer.statusCode, await answer.body.text()], [206, 'ftypisom'])
      }
      assert.equal(provider.submissions.length - submitted, jobs.length)
      assert.deepEqual(await balanceOf(two, key), { balance: 1_000 - (JOBS + jobs.length) * COST, reserved: 0 })
      await auditClean(two)
    },
  )
}
