import assert from 'node:assert/strict'
import type { NewUser, UserPatch } from '../../src/store/people/user-store.ts'
import { NOON_MS, type BenchTest } from './ledger-fixture.ts'

const PERSON = {
  id: 'usr_0',
  email: 'a@example.com',
  name: 'A',
  role: 'admin',
  accountId: null,
  passwordHash: 'hash',
  language: null,
  oidc: null,
  createdAtMs: NOON_MS,
} as const

/** What works once, and who stays, when several want it at once. */
export function peopleRaces(records: BenchTest): void {
  const losses: readonly (readonly [string, UserPatch])[] = [
    ['demoted', { operatorRole: 'support' }],
    ['disabled', { disabled: true }],
    ['made a user', { role: 'user', operatorRole: null }],
  ]
  for (const [what, patch] of losses)
    records(`owners who are ${what} by each other at once: one stays`, async ({ store: { users } }) => {
      const ids = ['one', 'two', 'three']
      for (const id of ids) await users.create({ ...PERSON, id, email: `${id}@example.com`, operatorRole: 'owner' })
      const outcomes = await Promise.allSettled(ids.map((id) => users.change(id, () => patch)))
      const refused = outcomes.filter(({ status }) => status === 'rejected')
      assert.equal(refused.length, 1)
      assert.match(JSON.stringify(refused), /last_owner/)
      assert.equal(await users.owners(), 1)
    })

  records('of the links for a first owner, used at once, one makes an owner', async ({ store: { users } }) => {
    const links = ['a', 'b', 'c', 'd']
    for (const hash of links)
      await users.putSetupToken({ hash, userId: null, clearTotp: false, expiresAtMs: NOON_MS + 9 })
    const made = await Promise.allSettled(
      [...links, ...links].map((hash, index) =>
        users.useSetupToken(hash, NOON_MS, 'hash', {
          ...PERSON,
          id: `u${index}`,
          email: `${index}@example.com`,
          operatorRole: 'owner',
        }),
      ),
    )
    assert.equal(made.filter((one) => one.status === 'fulfilled' && one.value !== null).length, 1)
    assert.equal((await users.list({ accountId: null, role: null, query: null, limit: 9, offset: 0 })).total, 1)
    await users.putSetupToken({ hash: 'late', userId: null, clearTotp: false, expiresAtMs: NOON_MS + 9 })
    const late = users.useSetupToken('late', NOON_MS, 'hash', { ...PERSON, id: 'late', email: 'late@example.com' })
    await assert.rejects(late, { message: 'There is an administrator already' })
  })

  records(
    'an invitation makes one user, however many use it at once, and none whose address is taken',
    async (bench) => {
      const { users, members, accounts } = bench.store
      const { accountId } = await bench.customer(1n)
      const invite = (id: string) =>
        members.invite(
          {
            id,
            hash: id,
            accountId,
            role: 'member',
            monthlyLimitMicro: null,
            email: null,
            createdBy: 'o',
            createdAtMs: NOON_MS,
            expiresAtMs: NOON_MS + 9,
          },
          NOON_MS,
        )
      const person = (id: string, email = `${id}@example.com`): NewUser => ({ ...PERSON, role: 'user', id, email })
      const join = (hash: string, made: NewUser) => members.join(hash, made, made, NOON_MS)
      await invite('once')
      const joined = await Promise.all(Array.from({ length: 8 }, (_, index) => join('once', person(`p${index}`))))
      assert.equal(joined.filter((invitation) => invitation !== null).length, 1)
      const all = async () =>
        (await users.list({ accountId: null, role: null, query: null, limit: 20, offset: 0 })).data
      const [winner] = await all()
      assert.equal((await all()).length, 1)
      assert.deepEqual(
        (await members.list(accountId)).map(({ userId }) => userId),
        [winner?.id],
      )
      await invite('again')
      await assert.rejects(join('again', person('x', winner?.email)), /exists already/)
      assert.equal((await all()).length, 1)
      assert.notEqual(await join('again', person('y')), null, 'the refusal has not used it up')
      const own = { name: 'own', email: null, defaultModel: null, rateLimit: null, createdAtMs: NOON_MS }
      await users.create(person('alone'))
      const made = await Promise.all(
        [1, 2, 3, 4].map((n) => accounts.createFor('alone', { ...own, id: `acc_own${n}` })),
      )
      assert.equal(made.filter(Boolean).length, 1, 'one account of their own')
      assert.equal(await accounts.createFor('y', { ...own, id: 'acc_y' }), false, 'who is in an account gets none')
      assert.equal(
        (await accounts.list({ query: 'acc_', limit: 9, offset: 0 })).data.filter(({ name }) => name === 'own').length,
        1,
      )
    },
  )

  records('of two owners of an account who leave it at once, or step down, one stays', async (bench) => {
    const { users, members } = bench.store
    for (const act of ['leave', 'change'] as const) {
      const { accountId } = await bench.customer(1n)
      const ids = [`${act}1`, `${act}2`]
      for (const id of ids) await users.create({ ...PERSON, role: 'user', id, email: `${id}@example.com`, accountId })
      const outcomes = await Promise.all(
        ids.map((id) =>
          act === 'leave'
            ? members.remove(accountId, id, { evenOwner: true })
            : members.change({ accountId, role: 'member', monthlyLimitMicro: null }, id, {
                by: id,
                month: '2026-11-01',
              }),
        ),
      )
      assert.equal(outcomes.filter((outcome) => outcome === 'last_owner').length, 1, act)
      assert.equal((await members.list(accountId)).filter(({ role }) => role === 'owner').length, 1)
    }
  })

  records('an owner who may not sign in is none that could stay', async (bench) => {
    const { users, members } = bench.store
    const { accountId } = await bench.customer(1n)
    for (const id of ['in', 'out'])
      await users.create({ ...PERSON, role: 'user', id, email: `${id}@example.com`, accountId })
    await users.change('out', () => ({ disabled: true }))
    const role = { accountId, role: 'member', monthlyLimitMicro: null } as const
    assert.equal(await members.remove(accountId, 'in', { evenOwner: true }), 'last_owner')
    assert.equal(await members.change(role, 'in', { by: 'in', month: '2026-11-01' }), 'last_owner')
    await users.change('out', () => ({ disabled: false }))
    assert.equal(await members.remove(accountId, 'in', { evenOwner: true }), 'removed')
  })

  records(
    'a new two-step sign-in is confirmed once, and is not replaced once it is on',
    async ({ store: { users } }) => {
      await users.create({ ...PERSON, id: 'usr_1' })
      const off = { totpSeed: null, totpEnabled: false }
      const begun = { totpSeed: Buffer.from('sealed'), totpEnabled: false }
      const on = (codes: readonly string[]) => ({ seed: begun.totpSeed, enabled: true, step: 1, recoveryHashes: codes })
      assert.equal(await users.setTotp('usr_1', { ...on([]), enabled: false }, off), true)
      const confirmed = await Promise.all(['a', 'b', 'c'].map((code) => users.setTotp('usr_1', on([code]), begun)))
      assert.equal(confirmed.filter(Boolean).length, 1)
      const [code = ''] = ['a', 'b', 'c'].filter((_, index) => confirmed[index])
      assert.equal(await users.setTotp('usr_1', { ...on([]), seed: null, enabled: false }, begun), false)
      assert.equal(await users.useRecoveryCode('usr_1', code), true, 'the codes that were answered are in force')
    },
  )
}
