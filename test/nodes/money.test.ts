import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { auditClean } from '../harness/audit.ts'
import { form } from '../harness/form.ts'
import { ask, NodeBench } from '../harness/node-bench.ts'
import type { Answer, Tollgate } from '../harness/server.ts'

/** guarantees.md F11 and R4: the long form is 200 rounds of 50 requests. */
const ROUNDS = form({ short: 3, long: 15, chaos: 200 })
const RACERS = form({ short: 16, long: 16, chaos: 50 })

const bench = await NodeBench.start({ valkey: false })
if (bench === null) test.skip('money over nodes: no PostgreSQL on this machine')
else moneyTests(bench)

function moneyTests(shared: NodeBench): void {
  describe('money over nodes', () => {
    let one: Tollgate
    let two: Tollgate
    before(async () => {
      ;[one, two] = await pair(shared)
    })
    after(() => shared.stop())

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
  })
}

async function pair(shared: NodeBench): Promise<readonly [Tollgate, Tollgate]> {
  const database = await shared.newDatabase()
  const options = { catalog: 'rate_limit: { requests: 100000, window: 60 }' }
  return Promise.all([shared.node(database, options), shared.node(database, options)])
}

/** One request holds all the money, and its final cost leaves too little for another. */
function race(one: Tollgate, two: Tollgate, key: string): Promise<Answer[]> {
  return Promise.all(Array.from({ length: RACERS }, (_, index) => ask(index % 2 === 0 ? one : two, key, 'words=9')))
}

/** The hold of one such request in RUB: a balance that covers exactly one. */
async function holdOf(node: Tollgate): Promise<number> {
  const { key } = await node.createAccount({ balance: 0.000001 })
  const refused = await ask(node, key, 'words=9')
  assert.equal(refused.status, 402, refused.text)
  return Number(refused.body.error.metadata.required)
}
