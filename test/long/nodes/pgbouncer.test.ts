import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { auditClean } from '../../harness/api-client.ts'
import { ask, NodeBench } from '../../harness/node-bench.ts'
import { moneyContract } from '../../nodes/money-contract.ts'

const CLIENTS = 24
const REQUESTS = 10

const bench = await NodeBench.start({ valkey: false, pgbouncer: true })
if (bench === null) test.skip('nodes behind PgBouncer: no PostgreSQL or no PgBouncer on this machine')
else poolerTests(bench)

function poolerTests(shared: NodeBench): void {
  describe('nodes behind PgBouncer in transaction mode', async () => {
    const database = await shared.newDatabase()
    const node = await shared.node(database, { catalog: 'rate_limit: { requests: 100000, window: 60 }' })

    test('accounts at work at once share its few connections, and each is charged what it was told', async () => {
      const accounts = await Promise.all(Array.from({ length: CLIENTS }, () => node.createAccount({ balance: 100 })))
      const spent = await Promise.all(
        accounts.map(async ({ key }) => {
          let micro = 0
          for (let turn = 0; turn < REQUESTS; turn += 1) {
            const { status, text, body } = await ask(node, key, 'words=5')
            assert.equal(status, 200, text)
            micro += Math.round(Number(body.usage.cost) * 1e6)
          }
          return micro
        }),
      )
      for (const [index, { id }] of accounts.entries()) {
        const { body } = await node.admin('GET', `/admin/v1/accounts/${id}`)
        assert.equal(Math.round(body.balance * 1e6), 100e6 - (spent[index] ?? 0))
      }
      await auditClean(node)
    })

    for (const [what, ignore, sentence] of [
      ['that refuses the settings of a connection', false, /is behind PgBouncer, which refuses the settings/],
      ['that drops the settings of a connection', true, /the settings of a connection do not arrive/],
    ] as const)
      test(`a pooler ${what} is refused at the start, with the word to add, unless the address says that it is there`, async () => {
        const name = new URL(database).pathname.slice(1)
        const hidden = shared.pooler?.url(name, ignore) ?? ''
        await assert.rejects(shared.node(hidden), (thrown: Error) => {
          assert.match(thrown.message, sentence)
          assert.match(thrown.message, /\?pgbouncer=true/)
          return true
        })
      })
  })

  moneyContract('money over nodes behind PgBouncer', shared)
}
