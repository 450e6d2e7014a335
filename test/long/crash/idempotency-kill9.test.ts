import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import pg from 'pg'
import { form, isLong } from '../../harness/form.ts'
import { until } from '../../harness/patience.ts'
import { startPostgres, type Postgres } from '../../harness/postgres.ts'
import { startTollgate, type Answer, type Tollgate } from '../../harness/server.ts'
import { auditClean } from '../../harness/api-client.ts'
import { freshFolder } from '../../harness/lasting.ts'

const ROUNDS = form({ short: 1, long: 3 })
const CLIENTS = form({ short: 4, long: 8 })
/** The pause of a client before it retries. */
const AGAIN_MS = form({ short: 50, long: 5 })
/** Between two kills. */
const TASKS = 2 * CLIENTS
const UNTIL_MS = 30_000
const FAST = { rate_limit: { requests: 100_000, window: 60 } }

/** The server that is killed and started again; on a database the second node lives on. */
interface Place {
  tollgate: Tollgate
  start(): Promise<Tollgate>
}

interface Task {
  readonly name: string
  readonly body: Record<string, unknown>
  /** Texts of its whole answers, which must be equal. */
  readonly texts: Set<string>
}

function taskOf(name: string, words: number): Task {
  return {
    name,
    texts: new Set(),
    body: {
      model: 'sandbox/chat',
      max_tokens: 100,
      messages: [{ role: 'user', content: `${name}\nsandbox: words=${words} delay_ms=${words % 7}` }],
    },
  }
}

function ask(place: Place, key: string, { name, body }: Task): Promise<Answer | null> {
  return place.tollgate
    .request('POST', '/v1/chat/completions', { key, body, headers: { 'idempotency-key': name } })
    .catch(() => null)
}

/** A client that retries until it has its answer, as a paying one does, and then once more. */
async function insist(place: Place, key: string, task: Task, limitMs: number): Promise<void> {
  for (let seen = 0; seen < 2; seen += 1) {
    const isAnswered = async (): Promise<boolean> => {
      const answer = await ask(place, key, task)
      if (answer?.status === 200) task.texts.add(answer.text)
      return answer?.status === 200
    }
    await until(limitMs, `${task.name} is answered`, isAnswered, AGAIN_MS)
  }
}

function tasksDone(tasks: readonly Task[]): Promise<number> {
  const before = tasks.length
  return until(UNTIL_MS, `${TASKS} more tasks are begun`, () => tasks.length >= before + TASKS)
}

async function killedUnderLoad(place: Place): Promise<void> {
  const { id, key } = await place.tollgate.createAccount({ balance: 10_000, account: FAST })
  const tasks: Task[] = []
  const load = { on: true }
  const clients = Array.from({ length: CLIENTS }, async (_value, number) => {
    for (let turn = 0; load.on; turn += 1) {
      const task = taskOf(`task-${number}-${turn}`, 1 + ((number + turn) % 30))
      tasks.push(task)
      await insist(place, key, task, UNTIL_MS * ROUNDS)
    }
  })
  for (let round = 0; round < ROUNDS; round += 1) {
    await tasksDone(tasks)
    await place.tollgate.kill('SIGKILL')
    place.tollgate = await place.start()
  }
  await tasksDone(tasks)
  load.on = false
  await Promise.all(clients)
  assert.ok(tasks.length > CLIENTS * ROUNDS, `only ${tasks.length} tasks were done`)
  for (const { name, texts } of tasks) assert.equal(texts.size, 1, `${name} has one answer`)
  const rows: { generation_id: string; total_cost: number; request_id: string }[] = []
  for (;;) {
    const { body } = await place.tollgate.admin(
      'GET',
      `/admin/v1/generations?account=${id}&limit=1000&offset=${rows.length}`,
    )
    rows.push(...body.data)
    if (body.data.length < 1_000) break
  }
  const paid = rows.filter(({ total_cost: cost }) => cost > 0)
  const answered = tasks.map(({ texts }) => JSON.parse([...texts][0] ?? ''))
  assert.deepEqual(
    new Set(paid.map(({ generation_id: generation }) => generation)),
    new Set(answered.map((answer) => answer.id)),
    'what was charged is what was answered',
  )
  assert.equal(paid.length, tasks.length, 'each task is charged once')
  await auditClean(place.tollgate)
}

describe('kill -9 with Idempotency-Keys', () => {
  test('embedded store: every task is answered with one answer and charged once, whenever the server dies', async () => {
    const dataDir = freshFolder()
    const start = (): Promise<Tollgate> => startTollgate({ dataDir })
    const place: Place = { tollgate: await start(), start }
    try {
      await killedUnderLoad(place)
    } finally {
      await place.tollgate.stop()
    }
  })
})

/** Ends the lease of a dead node. */
async function leaseEnds(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query("UPDATE hold SET lease_until = 1 WHERE state = 'open'")
  await client.end()
}

const postgres = await startPostgres()
if (postgres !== null) shared(postgres)

function shared(database: Postgres): void {
  test('a node of two dies in the middle of an answer: the key waits for its lease, and then the other node answers, charged once', async () => {
    const env = { DATABASE_URL: database.url, TOLLGATE_KEK: randomBytes(32).toString('base64') }
    const dying = await startTollgate({ env })
    const living = await startTollgate({ env })
    try {
      const { id, key } = await living.createAccount({ account: FAST })
      const task: Task = {
        name: 'one',
        texts: new Set(),
        body: {
          model: 'sandbox/chat',
          max_tokens: 50,
          messages: [{ role: 'user', content: 'Hello\nsandbox: words=5 delay_ms=3000' }],
        },
      }
      const start = (): Promise<Tollgate> => startTollgate({ env })
      const lost = ask({ tollgate: dying, start }, key, task)
      await until(
        20_000,
        'it is held',
        async () => (await living.admin('GET', `/admin/v1/accounts/${id}`)).body.reserved > 0,
      )
      await dying.kill('SIGKILL')
      assert.equal(await lost, null)
      const startedMs = performance.now()
      const early = await ask({ tollgate: living, start }, key, task)
      assert.equal(early?.status, 409, early?.text)
      if (!isLong) await leaseEnds(database.url)
      await insist({ tollgate: living, start }, key, task, 100_000)
      if (isLong) assert.ok(performance.now() - startedMs > 50_000, 'not before the lease was over')
      assert.equal(task.texts.size, 1)
      const { body } = await living.admin('GET', `/admin/v1/generations?account=${id}`)
      assert.deepEqual(body.data.filter((row: { total_cost: number }) => row.total_cost > 0).length, 1)
      await auditClean(living)
    } finally {
      await living.stop()
      await dying.stop()
      await database.stop()
    }
  })
}
