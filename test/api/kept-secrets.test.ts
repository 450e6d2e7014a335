import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { KEK } from '../harness/cli-run.ts'
import { ConsoleClient, PASSWORD, signedUp } from '../harness/console-client.ts'
import { gateway, type Gateway } from '../harness/gateway.ts'
import { createVideo, videoUntil } from '../harness/video-jobs.ts'
import { freshFolder } from '../harness/lasting.ts'

/** What the store keeps of customers is encrypted for their account, and goes with it. */
const HOOK = 'https://hooks.example.com/services/T0/canary-path?key=canary-query'
const ENV = { TOLLGATE_ADMIN_TOTP: 'optional', TOLLGATE_KEK: KEK }
const dataDir = freshFolder()
let tollgate = await gateway({ dataDir, env: ENV })
after(() => tollgate.stop())

/** As whoever may write to the database. */
function stored<Result>(work: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(join(dataDir, 'tollgate.db'))
  try {
    return work(database)
  } finally {
    database.close()
  }
}

interface Kept {
  readonly account: string
  readonly key: string
  readonly response: string
  readonly video: string
  readonly repeat: () => ReturnType<Gateway['request']>
}

/** An account with a kept answer, an idempotent one and a finished video. */
async function keeping(): Promise<Kept> {
  const { id: account, key } = await tollgate.createAccount({ balance: 1_000 })
  const asked = await tollgate.post('/v1/responses', key, {
    model: 'sandbox/chat',
    input: 'canary question',
    store: true,
  })
  assert.equal(asked.status, 200, asked.text)
  const name = randomBytes(8).toString('hex')
  const repeat: Kept['repeat'] = () =>
    tollgate.request('POST', '/v1/chat/completions', {
      key,
      headers: { 'idempotency-key': name },
      body: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'canary' }] },
    })
  assert.equal((await repeat()).status, 200)
  const { id: video } = await createVideo(tollgate, key, { model: 'sandbox/video', prompt: 'canary film', duration: 4 })
  await videoUntil(tollgate, key, video, 'completed')
  return { account, key, response: asked.body.id, video, repeat }
}

const generationOf = (response: string): string => response.replace('resp-', 'gen-')

test('a row that is moved to another account does not open there', async () => {
  const { account, key, response, video } = await keeping()
  const other = await tollgate.createAccount({ balance: 10 })
  const read = (as: string) => tollgate.get(`/v1/responses/${response}`, as)
  const film = (as: string) => tollgate.get(`/v1/videos/${video}`, as)
  const [own, ownFilm] = [(await read(key)).body, (await film(key)).body]
  assert.ok(JSON.stringify(own).includes('completed'))
  const move = (to: string): void =>
    stored((database) => {
      database.prepare('UPDATE kept_response SET account_id = ? WHERE id = ?').run(to, generationOf(response))
      database
        .prepare('UPDATE job SET account_id = ? WHERE account_id = ?')
        .run(to, to === account ? other.id : account)
    })
  move(other.id)
  assert.equal((await read(other.key)).status, 404)
  assert.notEqual((await film(other.key)).body.duration, ownFilm.duration ?? 4)
  assert.ok(!(await film(other.key)).text.includes('canary'))
  move(account)
  assert.deepEqual([(await read(key)).body, (await film(key)).body], [own, ownFilm])
})

test('a closed account keeps no texts: answers, idempotent answers, files, requests for videos', async () => {
  const { account, video, response } = await keeping()
  const counts = () =>
    stored((database) => {
      const one = (statement: string): unknown => Object.values(database.prepare(statement).get(account) ?? {})[0]
      return [
        one('SELECT COUNT(*) FROM kept_response WHERE account_id = ?'),
        one('SELECT COUNT(answer) FROM idempotency_key WHERE account_id = ?'),
        one('SELECT COALESCE(SUM(LENGTH(request)), 0) > 0 FROM job WHERE account_id = ?'),
        one('SELECT COUNT(*) FROM stored_file WHERE account_id = ?'),
      ]
    })
  assert.ok(response !== '' && video !== '')
  const before = counts()
  assert.ok(
    before.every((count) => Number(count) > 0),
    String(before),
  )
  const files = readdirSync(join(dataDir, 'files')).length
  assert.equal((await tollgate.admin('DELETE', `/admin/v1/accounts/${account}`)).status, 200)
  assert.deepEqual(counts(), [0, 0, 0, 0])
  assert.ok(readdirSync(join(dataDir, 'files')).length < files)
  assert.equal((await tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0)
})

test("a receiver's address is encrypted where it is kept, and only its host is in events", async () => {
  const { browser } = await signedUp(tollgate)
  const kinds = ['balance.low']
  const { id: account } = await tollgate.createAccount()
  const made = [
    await tollgate.admin('POST', '/admin/v1/notices/channels', { target: HOOK, kinds: ['provider.failing'] }),
    await tollgate.admin('PUT', '/admin/v1/notices/channels/external:hook', {
      target: HOOK,
      kinds: ['provider.failing'],
    }),
    await tollgate.admin('POST', `/admin/v1/accounts/${account}/notices/channels`, { target: HOOK, kinds }),
    await browser.post('notices/channels', { target: HOOK, kinds }),
  ]
  for (const { status, text } of made) assert.equal(status, 201, text)
  const [first, second, , fourth] = made.map(({ body }) => String(body.id))
  const moved = `${HOOK}&more=canary-two`
  const put = await tollgate.admin('PUT', `/admin/v1/notices/channels/${first}`, {
    target: moved,
    kinds: ['provider.failing'],
  })
  assert.equal(put.status, 200, put.text)
  assert.equal((await tollgate.admin('GET', `/admin/v1/notices/channels/${first}`)).body.target, moved)
  assert.equal((await browser.get('notices')).body.channels[0].target, HOOK)
  assert.equal((await browser.request('PATCH', `notices/channels/${fourth}`, { enabled: false })).status, 200)
  assert.equal((await tollgate.admin('DELETE', `/admin/v1/notices/channels/${second}`)).status, 200)
  const events = await tollgate.admin('GET', '/admin/v1/events?limit=100')
  assert.ok(events.text.includes('hooks.example.com'))
  assert.ok(!events.text.includes('canary-'), events.text)
  const rows = stored((database) => JSON.stringify(database.prepare('SELECT * FROM notice_channel').all()))
  assert.ok(!rows.includes('hooks.example'))
  // Of another account it is none.
  stored((database) =>
    database.prepare('UPDATE notice_channel SET account_id = ? WHERE id = ?').run(account, fourth ?? ''),
  )
  const shown = await tollgate.admin('GET', `/admin/v1/accounts/${account}/notices`)
  assert.ok(
    !shown.body.channels.some(({ id, target }: { id: string; target: string }) => id === fourth && target !== ''),
  )
})

test('links for a password end with the next password, and with the user', async () => {
  const { browser, email } = await signedUp(tollgate)
  const { data } = (await tollgate.admin('GET', `/admin/v1/users?q=${encodeURIComponent(email)}`)).body
  const [{ id }] = data
  const link = async (): Promise<string> => {
    const made = await tollgate.admin('POST', `/admin/v1/users/${id}/password-link`, {})
    assert.equal(made.status, 200, made.text)
    return new URL(made.body.link).searchParams.get('token') ?? ''
  }
  const use = async (token: string) =>
    [
      (await new ConsoleClient(tollgate).post('setup/check', { token })).status,
      (await new ConsoleClient(tollgate).post('setup', { token, password: 'somebody else knows it' })).status,
    ] as const
  const first = await link()
  const next = 'eleven quiet lanterns'
  const changed = await browser.post('password', { current_password: PASSWORD, new_password: next })
  assert.equal(changed.status, 200, changed.text)
  assert.deepEqual(await use(first), [403, 403])
  const second = await link()
  assert.equal((await tollgate.admin('PATCH', `/admin/v1/users/${id}`, { disabled: true })).status, 200)
  assert.deepEqual(await use(second), [403, 403])
  assert.equal((await tollgate.admin('PATCH', `/admin/v1/users/${id}`, { disabled: false })).status, 200)
  assert.deepEqual(await use(second), [403, 403])
  assert.equal((await new ConsoleClient(tollgate).signIn(email, next)).status, 200)
})

test('what an earlier version has written is encrypted at the next start', async () => {
  const channel = await tollgate.admin('POST', '/admin/v1/notices/channels', {
    target: HOOK,
    kinds: ['provider.failing'],
  })
  const { id } = channel.body
  stored((database) => database.prepare('UPDATE notice_channel SET target = ? WHERE id = ?').run(HOOK, id))
  assert.equal((await tollgate.admin('GET', `/admin/v1/notices/channels/${id}`)).body.target, HOOK)
  await tollgate.stop()
  assert.ok(existsSync(dataDir))
  tollgate = await gateway({ dataDir, env: ENV })
  const target = stored(
    (database) => database.prepare('SELECT target FROM notice_channel WHERE id = ?').get(id)?.['target'],
  )
  assert.ok(!String(target).includes('example'))
  assert.equal((await tollgate.admin('GET', `/admin/v1/notices/channels/${id}`)).body.target, HOOK)
})
