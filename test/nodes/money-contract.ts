import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import pg from 'pg'
import { withOne } from '../../src/catalog/coming-prices.ts'
import { auditClean, type ApiClient } from '../harness/api-client.ts'
import { form, isChaos, isLong } from '../harness/form.ts'
import { gateway, movingGateway, type MovingGateway } from '../harness/gateway.ts'
import { ask, until, type NodeBench } from '../harness/node-bench.ts'
import { meanwhile } from '../harness/patience.ts'
import type { Answer, Tollgate } from '../harness/server.ts'

/** guarantees.md F11 and R4: the long form is 200 rounds of 50 requests. */
const ROUNDS = form({ short: 3, long: 15, chaos: 200 })
const RACERS = form({ short: 16, long: 16, chaos: 50 })
/** In which a node hears of a change that another made. */
const HEARD_MS = 15_000
/** What others leave of an account while a node stands still. */
const LEFT_MICRO = 100
/** Clients of a key at work, and how many of its holds its balance covers. */
const CLIENTS = 6
const SPENDS = form({ short: 40, long: 200, chaos: 2_000 })

/** Two nodes on one database of the bench. */
export function moneyContract(what: string, shared: NodeBench): void {
  describe(what, async () => {
    const database = await shared.newDatabase()
    const [one, two] = await shared.pair(database)
    after(() => shared.stop())

    async function decideExactly(id: string): Promise<void> {
      const { body } = await two.admin('PATCH', `/admin/v1/accounts/${id}`, { exact_holds: true })
      assert.equal(body.exact_holds, true)
    }

    test('F11, R4: two nodes race for the last ruble in many rounds: one winner, and never less than nothing', async () => {
      const price = await holdOf(one)
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id, key } = await one.createAccount({ balance: price })
        const answers = await race(one, two, key)
        assert.equal(
          answers.filter(({ status }) => status === 200).length,
          1,
          `round ${round}: ${answers.map(({ status }) => status).join(' ')}`,
        )
        assert.equal(answers.filter(({ status }) => status === 402).length, RACERS - 1)
        const { body } = await two.admin('GET', `/admin/v1/accounts/${id}`)
        assert.ok(body.balance >= 0 && body.available >= 0 && body.reserved === 0, JSON.stringify(body))
      }
      await auditClean(two)
    })

    test('F11: the limit of a key is exact over nodes', async () => {
      const price = await holdOf(one)
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id, key } = await one.createAccount({ balance: 100, key: { limit: price } })
        const answers = await race(one, two, key)
        assert.equal(answers.filter(({ status }) => status === 200).length, 1, `round ${round}`)
        const { body } = await two.admin('GET', `/admin/v1/accounts/${id}/keys`)
        assert.ok(body.data[0].usage <= price && body.data[0].limit_remaining >= 0, JSON.stringify(body))
      }
      await auditClean(one)
    })

    const spendsAll = async (isExact: boolean): Promise<void> => {
      const price = await holdOf(one)
      const balance = Math.round(SPENDS * price * 1e6) / 1e6
      const { id, key } = await one.createAccount({ balance, key: { limit: balance, limit_reset: 'monthly' } })
      if (isExact) await decideExactly(id)
      const costs: number[] = []
      await Promise.all(
        Array.from({ length: CLIENTS }, async (_, index) => {
          for (let refused = 0; refused < 2;) {
            const answer = await ask((index + costs.length) % 2 === 0 ? one : two, key, 'words=9')
            if (answer.status === 200) costs.push(Number(answer.body.usage.cost))
            // A busy machine refuses some before anything is held.
            else if (answer.status !== 503) refused += 1
            assert.ok([200, 402, 429, 503].includes(answer.status), answer.text)
          }
        }),
      )
      assert.ok(costs.length >= SPENDS, `${costs.length} answers for a balance of ${SPENDS} holds`)
      const { body } = await two.admin('GET', `/admin/v1/accounts/${id}`)
      const spentMicro = costs.reduce((sum, cost) => sum + Math.round(cost * 1e6), 0)
      assert.equal(Math.round(body.balance * 1e6), Math.round(balance * 1e6) - spentMicro)
      assert.ok(body.available >= 0 && body.reserved === 0, JSON.stringify(body))
      await auditClean(two)
    }
    test('R4: a key at work on two nodes spends what there is and no more, each within what it has set aside', () =>
      spendsAll(false))
    test('R4: so does one whose holds the database decides', () => spendsAll(true))

    test('a refund gets the money that another node has set aside for the next requests', async () => {
      const moved = await shared.newDatabase()
      const [spending, refunding] = await movingPair(moved)
      try {
        const price = await holdOf(spending)
        const { id, key } = await spending.createAccount({ balance: Math.round(SPENDS * price * 1e6) / 1e6 })
        for (let turn = 0; turn < 3; turn += 1) assert.equal((await ask(spending, key, 'words=9')).status, 200)
        const setAside = `SELECT id FROM hold WHERE account_id = '${id}' AND state = 'open'`
        assert.equal((await query(moved, setAside)).length, 1, 'a part is set aside')
        const { body } = await refunding.admin('GET', `/admin/v1/accounts/${id}`)
        const refund = { kind: 'refund', amount: body.available, reason: 'test', reference: `all-${id}` }
        const asked = refunding.admin('POST', `/admin/v1/accounts/${id}/ledger`, refund)
        // The node that spent gives back what it does not use after seconds; the other one waits as long as it does.
        const answer = await passing(asked, spending)
        assert.deepEqual([answer.status, answer.body.balance], [201, 0], answer.text)
      } finally {
        await passing(Promise.all([spending.stop(), refunding.stop()]), spending, refunding)
      }
    })

    if (isLong || isChaos)
      test('prices that count from a time on count on each node from then, at its first request', async () => {
        const settings = { DATABASE_URL: await shared.newDatabase(), TOLLGATE_KEK: randomBytes(32).toString('base64') }
        const nodes = await Promise.all([settings, settings].map((env) => gateway({ catalog: '', env })))
        const [first, second] = nodes
        assert.ok(first !== undefined && second !== undefined)
        const { key } = await first.createAccount({ balance: 100 })
        const costs = async (): Promise<readonly number[]> => {
          const answers = await Promise.all([...nodes, ...nodes].map((node) => ask(node, key, 'words=9')))
          return answers.map(({ body }) => Number(body.usage.cost))
        }
        const [was = 0, ...others] = await costs()
        assert.deepEqual(others, [was, was, was])
        // A caller of the API gives a minute at least.
        const change = { id: 'cpr_soon', fromMs: Date.now() + HEARD_MS, markup: '2' }
        const lines = await first.app.catalog.changeComing((all, linesOf) => withOne(all, change, linesOf(change)))
        assert.equal(lines.length, 1)
        await until(HEARD_MS, 'the other node has heard of it', () => second.app.catalog.coming().length === 1)
        assert.deepEqual(await costs(), [was, was, was, was])
        assert.ok(Date.now() < change.fromMs, 'this came before it counts')
        await until(2 * HEARD_MS, 'it counts', () => Date.now() > change.fromMs)
        assert.deepEqual(await costs(), [2 * was, 2 * was, 2 * was, 2 * was])
        await auditClean(second)
        for (const node of nodes) await node.stop()
      })

    for (const isExact of isLong || isChaos ? [false, true] : [])
      test(`SIGSTOP beyond its lease${isExact ? ', where the database decides' : ''}: a node that comes back charges its answer with what is left, and sells no more`, async () => {
        const { id, key } = await one.createAccount({ balance: 100 })
        if (isExact) await decideExactly(id)
        for (let turn = 0; turn < 3; turn += 1) assert.equal((await ask(one, key, 'words=9')).status, 200)
        const answered = ask(one, key, 'words=9 gap_ms=300', { stream: true })
        const held = `SELECT id FROM hold WHERE account_id = '${id}' AND state = 'open'`
        if (isExact)
          await until(20_000, 'its hold is in the database', async () => (await query(database, held)).length > 0)
        else await until(20_000, 'its hold is in memory', async () => (await drawn(one)) > 0)
        process.kill(one.pid, 'SIGSTOP')
        try {
          await query(database, "UPDATE hold SET lease_until = 1 WHERE state = 'open'")
          await until(
            30_000,
            'the other node has given its allowance back',
            async () => (await query(database, "SELECT id FROM hold WHERE state = 'open'")).length === 0,
          )
          const { body } = await two.admin('GET', `/admin/v1/accounts/${id}`)
          const amount = (LEFT_MICRO - Math.round(body.available * 1e6)) / 1e6
          const taken = { kind: 'adjustment', amount, reason: 'test', reference: `left-${id}` }
          assert.equal((await two.admin('POST', `/admin/v1/accounts/${id}/ledger`, taken)).status, 201)
        } finally {
          process.kill(one.pid, 'SIGCONT')
        }
        assert.equal((await answered).status, 200)
        const late = `SELECT charged, shortfall > 0 AS short FROM hold WHERE account_id = '${id}' AND state = 'settled_late'`
        assert.deepEqual(await query(database, late), [{ charged: String(LEFT_MICRO), short: true }])
        assert.equal((await ask(one, key, 'words=9')).status, 402)
        await auditClean(two)
      })
  })
}

async function query(database: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  const { rows } = await client.query(text)
  await client.end()
  return rows
}

async function drawn(node: Tollgate): Promise<number> {
  const { text } = await node.request('GET', '/metrics')
  return Number(/^tollgate_ledger_drawn (\d+)$/m.exec(text)?.[1] ?? 0)
}

/** Two nodes in this process, with clocks that the test moves. */
function movingPair(database: string): Promise<readonly [MovingGateway, MovingGateway]> {
  const env = {
    DATABASE_URL: database,
    TOLLGATE_ADMIN_TOKEN: randomBytes(24).toString('hex'),
    TOLLGATE_KEK: randomBytes(32).toString('base64'),
  }
  const start = (): Promise<MovingGateway> => movingGateway({ catalog: '', env })
  return Promise.all([start(), start()])
}

/** Time goes faster for these servers while `work` runs. */
function passing<T>(work: Promise<T>, ...servers: readonly MovingGateway[]): Promise<T> {
  const pass = (): void => {
    for (const { clock } of servers) clock.advance(500)
  }
  return meanwhile(work, pass, 5)
}

/** One request holds all the money, and its final cost leaves too little for another. */
function race(one: Tollgate, two: Tollgate, key: string): Promise<Answer[]> {
  return Promise.all(Array.from({ length: RACERS }, (_, index) => ask(index % 2 === 0 ? one : two, key, 'words=9')))
}

/** The hold of one such request in RUB: a balance that covers exactly one. */
async function holdOf(node: ApiClient): Promise<number> {
  const { key } = await node.createAccount({ balance: 0.000001 })
  const refused = await ask(node, key, 'words=9')
  assert.equal(refused.status, 402, refused.text)
  return Number(refused.body.error.metadata.required)
}
