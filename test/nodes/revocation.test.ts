import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { ConsoleClient, PASSWORD, signedUp, topUp } from '../harness/console-client.ts'
import { ask, NodeBench, until } from '../harness/node-bench.ts'
import type { Tollgate } from '../harness/server.ts'

/** S7: a change applies on every node within this time. */
const SEEN_MS = 5_000
const CLIENTS = 8

const bench = await NodeBench.start({ valkey: false })
if (bench === null) test.skip('revocations: no PostgreSQL on this machine')
else revocationTests(bench)

interface Busy {
  readonly id: string
  readonly key: string
  readonly keyId: string
}

function revocationTests(shared: NodeBench): void {
  describe('what is busy can be switched off', async () => {
    const database = await shared.newDatabase()
    const catalog =
      'rate_limit: { requests: 100000, window: 60 }\nip_block: { failures: 100000, window: 60, duration: 1 }'
    const one = await shared.node(database, { catalog })
    const two = await shared.node(database)
    await one.admin('PATCH', '/admin/v1/settings', { signup: 'open' })
    after(() => shared.stop())

    /** Clients of both nodes ask with the key without a pause while `work` runs. */
    async function underLoad(key: string, work: (served: () => number) => Promise<void>): Promise<void> {
      let isOver = false
      let served = 0
      const clients = Array.from({ length: CLIENTS }, async (_, index) => {
        while (!isOver) if ((await ask(index % 2 === 0 ? one : two, key, 'words=1')).status === 200) served += 1
      })
      try {
        await until(20_000, 'all are at work', () => served > 3 * CLIENTS)
        await work(() => served)
      } finally {
        isOver = true
        await Promise.all(clients)
      }
    }

    /** Asks once on the node of the change, and until it is refused on the other. */
    async function refusedEverywhere(key: string, what: string): Promise<void> {
      const status = async (node: Tollgate): Promise<number> => (await ask(node, key, 'words=1')).status
      assert.notEqual(await status(one), 200, `${what}: refused at once where it was changed`)
      await until(SEEN_MS, `${what}: refused elsewhere`, async () => (await status(two)) !== 200)
      assert.notEqual(await status(two), 200, what)
    }

    const change = async (what: string, asked: Promise<Answer>): Promise<void> => {
      const answer = await asked
      assert.ok([200, 201].includes(answer.status), `${what}: ${answer.status} ${answer.text}`)
    }
    const again = (key: string): Promise<unknown> =>
      until(SEEN_MS, 'it works again everywhere', async () => {
        const answers = await Promise.all([ask(one, key, 'words=1'), ask(two, key, 'words=1')])
        return answers.every(({ status }) => status === 200)
      })

    for (const exact of [true, false])
      test(`an operator's changes of a busy key and its account are done, and then nothing is answered, ${exact ? 'with exact holds' : 'with allowances'}`, async () => {
        const { id, key, keyId }: Busy = await one.createAccount({ balance: 10_000 })
        const patchKey = (body: object): Promise<Answer> => one.admin('PATCH', `/admin/v1/keys/${keyId}`, body)
        const patchAccount = (body: object): Promise<Answer> => one.admin('PATCH', `/admin/v1/accounts/${id}`, body)
        await change('its holds', patchAccount({ exact_holds: exact }))
        const group = (await one.admin('POST', '/admin/v1/account-groups', { name: `g ${exact}`, markup: '1.5' })).body
        await underLoad(key, async () => {
          for (let round = 0; round < 3; round += 1) {
            await change('a limit', patchKey({ limit: 5_000 + round, limit_reset: 'monthly' }))
            await change("an account's limit", patchAccount({ limit: 9_000 + round, limit_reset: 'monthly' }))
            await change('a group', patchAccount({ group: round % 2 === 0 ? group.id : null }))
            const markup = { markup: `1.${round}` }
            await change('its markup', one.admin('PATCH', `/admin/v1/account-groups/${group.id}`, markup))
            await change('rate and models', patchKey({ name: `n${round}`, allowed_models: ['sandbox/chat'] }))
          }
          await change('disabled', patchKey({ disabled: true }))
          await refusedEverywhere(key, 'a disabled key')
          await change('enabled', patchKey({ disabled: false }))
          await again(key)
          for (const status of ['locked', 'deactivated']) {
            await change(status, patchAccount({ status }))
            await refusedEverywhere(key, `an account that is ${status}`)
            await change('active', patchAccount({ status: 'active' }))
            await again(key)
          }
          const rotated = await one.admin('POST', `/admin/v1/keys/${keyId}/rotate`, { grace_seconds: 0 })
          assert.equal(rotated.status, 200, rotated.text)
          await refusedEverywhere(key, 'a replaced secret')
        })
        const { key: second } = (await one.admin('POST', `/admin/v1/keys/${keyId}/rotate`, { grace_seconds: 0 })).body
        await underLoad(second, async () => {
          await change('deleted', one.admin('DELETE', `/admin/v1/keys/${keyId}`))
          await refusedEverywhere(second, 'a deleted key')
        })
      })

    test('people and their management keys switch off a busy key, and a removed person their own', async () => {
      const { browser, accountId } = await signedUp(one)
      await topUp(one, accountId, 10_000)
      const { link } = (await browser.post('invitations', { role: 'member' })).body
      const token = new URL(link).searchParams.get('token')
      const person = new ConsoleClient(one)
      const joined = await person.post('invitations/join', { token, email: 'm@example.com', password: PASSWORD })
      const theirs = (await person.post('keys', { name: 'theirs' })).body
      await underLoad(theirs.key, async () => {
        await change('limits', browser.request('PATCH', `members/${joined.body.profile.user_id}`, { role: 'billing' }))
        const path = `members/${joined.body.profile.user_id}/remove`
        await change('removed', browser.post(path, { disable_keys: true }))
        await refusedEverywhere(theirs.key, 'a key of a removed person')
      })
      const own = (await browser.post('keys', { name: 'own' })).body
      const manager = (await browser.post('management-keys', { name: 'manager' })).body
      await underLoad(own.key, async () => {
        await change('limit', one.request('PATCH', `/v1/keys/${own.id}`, { key: manager.key, body: { limit: 5_000 } }))
        await change('disabled', browser.request('PATCH', `keys/${own.id}`, { disabled: true }))
        await refusedEverywhere(own.key, 'a key that its owner disabled')
        await change('enabled', browser.request('PATCH', `keys/${own.id}`, { disabled: false }))
        await again(own.key)
        await change('deleted', one.request('DELETE', `/v1/keys/${own.id}`, { key: manager.key }))
        await refusedEverywhere(own.key, 'a key that a program deleted')
        await change('the program', browser.request('DELETE', `management-keys/${manager.id}`))
      })
    })
  })
}
