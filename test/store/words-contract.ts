import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { Bench, NOON_MS, TestClock } from './ledger-fixture.ts'

const PAGE = { limit: 100, offset: 0 }
const NAMES: readonly (readonly [id: string, name: string, email: string | null])[] = [
  ['acc_one', 'ООО «Ромашка»', 'Buh@Romashka.ru'],
  ['acc_two', 'Иванов-Петров Семён site_prod', null],
  ['acc_TWOmore', 'Nordic Ångström AB', 'ap@example.com'],
]

/** Any word of a name, an e-mail or an id finds a record, and changes of its texts are found at once. */
export function wordsContract(open: () => Promise<Store>): void {
  const withStore = async (body: (store: Store) => Promise<void>): Promise<void> => {
    const store = await open()
    try {
      for (const [id, name, email] of NAMES)
        await store.accounts.create({ id, name, email, defaultModel: null, rateLimit: null, createdAtMs: NOON_MS })
      await body(store)
    } finally {
      await store.close()
    }
  }
  const found = async (store: Store, query: string): Promise<readonly string[]> =>
    (await store.accounts.list({ query, ...PAGE })).data.map(({ id }) => id).toSorted()

  test('an account is found by the beginning of each of its words, in any letter case', () =>
    withStore(async (store) => {
      for (const [query, ids] of [
        ['ромашка', ['acc_one']],
        ['РОМ', ['acc_one']],
        ['«Ромашка»', ['acc_one']],
        ['ромашка ооо', ['acc_one']],
        ['buh@romashka', ['acc_one']],
        ['петров', ['acc_two']],
        ['семен', ['acc_two']],
        ['СЕМЁН ИВАН', ['acc_two']],
        ['acc_two', ['acc_TWOmore', 'acc_two']],
        ['acc_twom', ['acc_TWOmore']],
        ['ångström', ['acc_TWOmore']],
        ['ангстрем', []],
        ['ромашка петров', []],
        ['омашка', []],
        ['prod', ['acc_two']],
        ['site_p', ['acc_two']],
        ['sit_', []],
        ['%', []],
        ['—', []],
        [' ', ['acc_TWOmore', 'acc_one', 'acc_two']],
      ] as const)
        assert.deepEqual(await found(store, query), ids, query)
    }))

  test('a new name, e-mail or external id is found at once, and the old one no longer', () =>
    withStore(async (store) => {
      assert.deepEqual(await found(store, 'ромашка'), ['acc_one'])
      await store.accounts.update('acc_one', { name: 'Василёк', email: null, externalId: 'crm-4711' })
      assert.deepEqual(await found(store, 'ромашка'), [])
      assert.deepEqual(await found(store, 'василек'), ['acc_one'])
      assert.deepEqual(await found(store, 'CRM-47'), ['acc_one'])
      await store.accounts.update('acc_one', { externalId: null })
      assert.deepEqual(await found(store, 'crm'), [])
    }))

  test('keys and people are found by the same rule', () =>
    withStore(async (store) => {
      const { ledger } = new Bench(store, new TestClock(NOON_MS))
      const periods = ledger.periods(NOON_MS)
      const digest = Buffer.alloc(32, 1)
      const key = { limitMicro: null, limitReset: null, expiresAtMs: null, allowedModels: null, createdAtMs: NOON_MS }
      await store.keys.create({
        id: 'key_a',
        accountId: 'acc_one',
        name: 'Сайт Прод',
        label: 'sk-tg-au7…890',
        digest,
        ...key,
      })
      const keys = async (search: string): Promise<number> =>
        (await store.keys.lists.page({ accountId: 'acc_one', search }, periods, PAGE)).data.length
      for (const [query, count] of [
        ['прод', 1],
        ['САЙТ', 1],
        ['890', 1],
        ['sk-tg-au7', 1],
        ['key_a', 1],
        ['тест', 0],
      ] as const)
        assert.equal(await keys(query), count, query)
      await store.users.create({
        id: 'usr_a',
        email: 'anna@corp.example',
        name: 'Анна Фёдорова',
        role: 'user',
        accountId: null,
        passwordHash: null,
        language: null,
        oidc: null,
        createdAtMs: NOON_MS,
      })
      const users = async (query: string): Promise<number> =>
        (await store.users.list({ accountId: null, role: null, query, ...PAGE })).data.length
      for (const [query, count] of [
        ['федорова', 1],
        ['corp', 1],
        ['ANNA@', 1],
        ['usr_a', 1],
        ['пётр', 0],
      ] as const)
        assert.equal(await users(query), count, query)
    }))

  test('a word that very many records have is found without counting them', () =>
    withStore(async (store) => {
      for (let index = 0; index < 30; index += 1)
        await store.accounts.create({
          id: `acc_m${index}`,
          name: `ООО Сорт ${index}`,
          email: null,
          defaultModel: null,
          rateLimit: null,
          createdAtMs: NOON_MS + index,
        })
      const page = await store.accounts.list({ query: 'ооо сорт', limit: 10, offset: 0 })
      assert.deepEqual([page.data.length, page.total, page.data[0]?.name], [10, 30, 'ООО Сорт 29'])
    }))
}
