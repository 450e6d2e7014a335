import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS, MINUTE_MS } from '../../src/base/time.ts'
import type { NewRefusal, RefusalStore } from '../../src/store/refusals/refusal-store.ts'
import type { Store } from '../../src/store/store.ts'
import { form } from '../harness/form.ts'
import { NOON_MS } from './ledger-fixture.ts'

type Refusal = NewRefusal

const PAGE = { limit: 1_000, offset: 0 }

function refusal(given: Partial<Refusal> = {}): Refusal {
  const { minuteMs = NOON_MS } = given
  return {
    accountId: 'acc_a',
    keyId: 'key_a',
    keyName: 'Staging',
    model: 'test/chat',
    cause: 'limit_exceeded',
    minuteMs,
    times: 1,
    atMs: minuteMs + 1,
    requestId: 'req-1',
    status: 429,
    path: '/v1/chat/completions',
    message: 'Limit exceeded',
    figures: { limit: 20, spent: 19.5 },
    ...given,
  }
}

/** What was refused is counted once by whoever refused it, and stays bounded. */
export function refusalsContract(open: () => Promise<Store>): void {
  const withRefusals = async (body: (refusals: RefusalStore) => Promise<void>): Promise<void> => {
    const store = await open()
    try {
      await body(store.refusals)
    } finally {
      await store.close()
    }
  }

  test('a key was refused for a cause since an instant, or not', async () => {
    await withRefusals(async (refusals) => {
      await refusals.add([refusal()])
      const of = { accountId: 'acc_a', keyId: 'key_a', cause: 'limit_exceeded' } as const
      assert.deepEqual(
        [
          await refusals.hasAny(of, NOON_MS),
          await refusals.hasAny(of, NOON_MS + MINUTE_MS),
          await refusals.hasAny({ ...of, keyId: '' }, 0),
          await refusals.hasAny({ ...of, cause: 'key_expired' }, 0),
        ],
        [true, false, false, false],
      )
    })
  })

  test('nodes count into one row of a minute, whose newest is the last that came', () =>
    withRefusals(async (refusals) => {
      const models = Array.from({ length: 40 }, (_, index) => `test/${index}`)
      const node = (times: number, order: readonly string[]): Promise<void> =>
        refusals.add(order.map((model) => refusal({ model, times })))
      await Promise.all([node(2, models), node(3, models.toReversed()), node(4, models)])
      await refusals.add([refusal({ model: 'test/0', atMs: NOON_MS + 9, requestId: 'req-9', figures: {} })])
      const { data, total } = await refusals.list(PAGE, {})
      assert.deepEqual([total, data[0]?.times, data[0]?.requestId, data[0]?.figures], [40, 10, 'req-9', {}])
      assert.ok(data.slice(1).every(({ times, requestId }) => times === 9 && requestId === 'req-1'))
    }))

  test('a request that is not the newest of its minute is found by its id, of a bounded number', () =>
    withRefusals(async (refusals) => {
      await refusals.add([refusal({ requestId: 'req-3', times: 3, earlierIds: ['req-1', 'req-2'] })])
      await refusals.add([refusal({ requestId: 'req-4', atMs: NOON_MS + 5 })])
      const found = async (requestId: string): Promise<string | undefined> =>
        (await refusals.list(PAGE, { requestId })).data[0]?.requestId
      for (const id of ['req-1', 'req-2', 'req-3', 'req-4']) assert.equal(await found(id), 'req-4')
      for (let more = 5; more < 60; more += 1) await refusals.add([refusal({ requestId: `req-${more}` })])
      assert.equal(await found('req-50'), undefined)
      assert.equal(await found('req-59'), 'req-59')
      await refusals.removeExpired(NOON_MS + 8 * DAY_MS)
      assert.equal(await found('req-1'), undefined)
    }))

  test('lists are by account, key, cause, request and time; sums by key, or by account', () =>
    withRefusals(async (refusals) => {
      await refusals.add([
        refusal({ times: 5 }),
        refusal({ minuteMs: NOON_MS + MINUTE_MS, times: 6, requestId: 'req-2' }),
        refusal({ keyId: 'key_b', times: 3 }),
        refusal({ cause: 'model_not_found', model: 'test/none', times: 20 }),
        refusal({ accountId: 'acc_b', times: 2 }),
        refusal({ minuteMs: NOON_MS - DAY_MS, times: 100 }),
      ])
      const found = async (filter: Parameters<RefusalStore['list']>[1]): Promise<number> =>
        (await refusals.list(PAGE, filter)).data.length
      assert.deepEqual(
        await Promise.all([
          found({ accountId: 'acc_b' }),
          found({ keyId: 'key_b' }),
          found({ cause: 'model_not_found' }),
          found({ requestId: 'req-2' }),
          found({ fromMs: NOON_MS + MINUTE_MS }),
          found({ toMs: NOON_MS }),
        ]),
        [1, 1, 1, 1, 1, 1],
      )
      assert.deepEqual(
        await refusals.byKey('acc_a', NOON_MS),
        new Map([
          ['key_a', 31],
          ['key_b', 3],
        ]),
      )
      const shown = async (account: string | null): Promise<unknown> =>
        (await refusals.sums(account, NOON_MS, 10)).map(({ times, newest }) => [
          times,
          account === null ? newest.accountId : newest.keyId,
          newest.cause,
          newest.requestId,
        ])
      assert.deepEqual(await shown('acc_a'), [
        [20, 'key_a', 'model_not_found', 'req-1'],
        [11, 'key_a', 'limit_exceeded', 'req-2'],
        [3, 'key_b', 'limit_exceeded', 'req-1'],
      ])
      assert.deepEqual(await shown(null), [
        [20, 'acc_a', 'model_not_found', 'req-1'],
        [14, 'acc_a', 'limit_exceeded', 'req-2'],
        [2, 'acc_b', 'limit_exceeded', 'req-1'],
      ])
      assert.equal((await refusals.sums(null, NOON_MS, 1)).length, 1)
    }))

  test('an account keeps its newest 5,000 minutes, and nobody one that is older than a week', () =>
    withRefusals(async (refusals) => {
      const kept = form({ short: 50n, long: undefined })
      const most = Number(kept ?? 5_000n)
      const many = Array.from({ length: most + 100 }, (_, index) => refusal({ minuteMs: NOON_MS - index * MINUTE_MS }))
      // As few at a time as a node writes: whoever watches the locks of a transaction keeps all of its statements.
      for (let from = 0; from < many.length; from += 100) await refusals.add(many.slice(from, from + 100))
      await refusals.add([refusal({ accountId: 'acc_b', minuteMs: NOON_MS - 8 * DAY_MS })])
      await refusals.trim('acc_a', kept)
      const { total } = await refusals.list({ limit: 1, offset: 0 }, { accountId: 'acc_a' })
      assert.ok(total >= most && total <= most + 1, String(total))
      await refusals.removeExpired(NOON_MS)
      assert.equal((await refusals.list(PAGE, { accountId: 'acc_b' })).total, 0)
      assert.equal((await refusals.list(PAGE, { accountId: 'acc_a' })).total, total)
    }))
}
