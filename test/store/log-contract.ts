import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GenerationRecord, GenerationRow } from '../../src/ledger/generation-record.ts'
import type { LogFilterName } from '../../src/ledger/log-filters.ts'
import type { GenerationFilter } from '../../src/store/log/query.ts'
import { HOUR_MS } from '../../src/base/time.ts'
import type { Store } from '../../src/store/store.ts'
import { form } from '../harness/form.ts'
import { Bench, newId, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'

const MODELS = ['openai/gpt-4o', 'openai/gpt-4o-mini', 'rare/model'] as const
const TYPES = ['chat', 'embeddings', 'image'] as const
const PROVIDERS = ['openai', 'azure'] as const
const ROWS = 60
const TOGETHER = 10

/** A log of two accounts, three keys and every combination of the filters' values; a row every second. */
async function fill(bench: Bench, customers: readonly Customer[]): Promise<void> {
  const rows = Array.from({ length: ROWS }, (_value, index) => ({
    id: newId('gen-'),
    customer: customers[index % 3] ?? assert.fail(),
  }))
  for (const [index, { id, customer }] of rows.entries()) {
    // Holds placed together share a commit.
    if (index % TOGETHER === 0)
      await Promise.all(rows.slice(index, index + TOGETHER).map((row) => bench.hold(row.customer, 10n, row.id)))
    bench.clock.advance(1_000)
    const record: GenerationRecord = {
      ...bench.record(customer, id),
      model: MODELS[index % 7 === 0 ? 2 : index % 2] ?? '',
      type: TYPES[index % 3] ?? 'chat',
      providerSlug: PROVIDERS[index % 2] ?? null,
      requestId: `req-${index % 5}`,
      status: index % 6 === 0 ? 'error' : 'completed',
      flagged: index % 4 === 3,
      appUrl: index % 5 === 1 ? 'https://app.example' : null,
      appTitle: ['Ti_le', 'Title', null][index % 3] ?? null,
      ...(index % 3 === 0 ? { endUser: `иван_${index % 2}` } : {}),
      ...(index % 4 === 1 ? { cacheSaved: index - 20 } : {}),
      ...(index % 3 === 1 ? { condition: `above ${index % 2}` } : {}),
    }
    if (record.status === 'completed')
      await bench.ledger.settle({ generationId: id, costMicro: 3n, providerCostMicro: 1n, insuredMicro: 0n, record })
    else await bench.ledger.void({ generationId: id, insuredMicro: 0n, record: { ...record, billingBasis: 'free' } })
  }
}

async function customersOf(bench: Bench): Promise<readonly Customer[]> {
  const first = await bench.customer(1_000_000n)
  const second = await bench.customer(1_000_000n)
  return [first, second, await bench.key(first.accountId, { madeBy: { userId: 'usr_maker', month: '2026-01-01' } })]
}

export function expected(all: readonly GenerationRow[], filter: GenerationFilter): readonly GenerationRow[] {
  const asked: Readonly<Record<LogFilterName, (row: GenerationRow) => boolean>> = {
    accountId: (row) => row.accountId === filter.accountId,
    keyId: (row) => row.keyId === filter.keyId,
    model: (row) => row.model === filter.model,
    type: (row) => row.type === filter.type,
    provider: (row) => row.providerSlug === filter.provider,
    status: (row) => row.status === filter.status,
    requestId: (row) => row.requestId === filter.requestId,
    generationId: (row) => row.generationId === filter.generationId,
    errorType: (row) => row.errorType === filter.errorType,
    flagged: (row) => row.flagged,
    app: (row) => (row.appUrl ?? row.appTitle ?? '') === filter.app,
    endUser: (row) => row.endUser === filter.endUser,
    fromMs: (row) => row.endedAtMs >= (filter.fromMs ?? 0),
    toMs: (row) => row.endedAtMs < (filter.toMs ?? Infinity),
  }
  const given = Object.entries(asked).filter(([name]) => name in filter)
  return all.filter((row) => given.every(([, fits]) => fits(row)))
}

/** Every subset of the filters, with a few values each. */
function* filters(customers: readonly Customer[], all: readonly GenerationRow[]): Generator<GenerationFilter> {
  const [first, second] = customers
  const choices: readonly (readonly Partial<GenerationFilter>[])[] = [
    [
      {},
      { accountId: first?.accountId ?? '' },
      { accountId: second?.accountId ?? '', keyId: first?.keyId ?? '' },
      { keyId: customers[2]?.keyId ?? '' },
      { keyId: 'key_unknown' },
    ],
    [{}, { model: 'rare/model' }, { model: 'openai/gpt-4o' }],
    [{}, { type: 'chat' }, { type: 'image' }],
    [{}, { status: 'error' }, { status: 'completed' }],
    [{}, { fromMs: NOON_MS + 20_000 }, { fromMs: NOON_MS + 10_000, toMs: NOON_MS + 40_000 }, { toMs: NOON_MS }],
    [{}, { provider: 'azure' }, { requestId: 'req-3' }, { generationId: all[17]?.generationId ?? '' }],
    [
      {},
      { flagged: true },
      { errorType: 'provider_error' },
      { app: '' },
      { app: 'https://app.example' },
      { app: 'Ti_le' },
      { app: 'ti_LE' },
      { endUser: 'иван_0' },
      { endUser: 'иван_1', app: '' },
    ],
  ]
  for (const one of choices[0] ?? [])
    for (const two of choices[1] ?? [])
      for (const three of choices[2] ?? [])
        for (const four of choices[3] ?? [])
          for (const five of choices[4] ?? [])
            for (const six of choices[5] ?? [])
              for (const seven of choices[6] ?? [])
                yield { ...one, ...two, ...three, ...four, ...five, ...six, ...seven, limit: 4, offset: 1 }
}

export function logContract(open: () => Promise<Store>): void {
  const log = (name: string, body: (bench: Bench, customers: readonly Customer[]) => Promise<void>): void => {
    test(name, async () => {
      const bench = new Bench(await open(), new TestClock(NOON_MS))
      try {
        const customers = await customersOf(bench)
        await fill(bench, customers)
        await body(bench, customers)
        await bench.auditClean()
      } finally {
        await bench.ledger.stop()
        await bench.store.close()
      }
    })
  }

  log(
    'the overview counts the newest rows, their causes and delays, and finds who runs low',
    async (bench, customers) => {
      const [{ accountId } = assert.fail(), { accountId: otherId } = assert.fail()] = customers
      const all = (await bench.store.generations.list({ limit: 1_000, offset: 0 })).data
      const sinceMs = NOON_MS + 30_500
      const query = { sinceMs, fromDay: '2000-01-01', days: 30 }
      const { recent, causes, lowBalances, ...money } = await bench.store.overview.read({ ...query, coveredDays: 0 })
      const rows = all.filter(({ endedAtMs }) => endedAtMs >= sinceMs)
      const failed = rows.filter(({ status }) => status === 'error')
      assert.ok(rows.length > 20 && failed.length > 3 && rows.length < all.length, String(rows.length))
      const delays = rows.flatMap(({ latencyMs }) => (latencyMs === null ? [] : [latencyMs])).toSorted((a, b) => a - b)
      assert.deepEqual(recent, {
        requests: rows.length,
        errors: failed.length,
        flagged: rows.filter(({ flagged }) => flagged).length,
        cacheSavedMicro: BigInt(rows.reduce((sum, { cacheSaved = 0 }) => sum + cacheSaved, 0)),
        fromMs: Math.min(...rows.map(({ endedAtMs }) => endedAtMs)),
        ttft: {
          p50: delays[Math.floor(delays.length * 0.5)] ?? assert.fail(),
          p99: delays[Math.floor(delays.length * 0.99)] ?? assert.fail(),
        },
      })
      assert.equal(
        causes.reduce((sum, { requests }) => sum + requests, 0),
        failed.length,
      )
      assert.deepEqual(lowBalances, [])
      assert.deepEqual(money, { lockedAccounts: 0, lockedMicro: 0n, pendingPayments: 0, pendingMicro: 0n })
      await bench.store.accounts.update(otherId, { status: 'locked' })
      const low = await bench.store.overview.read({ ...query, coveredDays: 1_000_000_000 })
      assert.deepEqual(
        low.lowBalances.map(({ id, spentMicro }) => [id, spentMicro]),
        [[accountId, all.filter((row) => row.accountId === accountId).reduce((sum, row) => sum + row.costMicro, 0n)]],
      )
      assert.equal(low.lockedAccounts, 1)
      const refusal = {
        keyId: 'k',
        keyName: '',
        model: '',
        cause: 'insufficient_balance',
        minuteMs: NOON_MS,
        times: 1,
      } as const
      const answer = { atMs: NOON_MS + 60_000, requestId: 'r', status: 402, path: '/', message: '' }
      const needs = async (required: number): Promise<number> => {
        await bench.store.refusals.add([{ ...refusal, ...answer, accountId, figures: { required } }])
        return (await bench.store.overview.read({ ...query, coveredDays: 0 })).lowBalances.length
      }
      assert.deepEqual([await needs(0.000001), await needs(1_000_000.5)], [0, 1])
    },
  )

  log('the sums by model, key and person hold what the caches saved, losses included', async (bench, customers) => {
    const [{ accountId } = assert.fail()] = customers
    const all = (await bench.store.generations.list({ limit: 1_000, offset: 0 })).data
    for (const [group, of] of [
      ['model', ({ model }: GenerationRow) => model],
      ['key', ({ keyId }: GenerationRow) => keyId],
      ['person', ({ keyId }: GenerationRow) => (keyId === customers[2]?.keyId ? 'usr_maker' : '')],
    ] as const) {
      const sums = await bench.store.log.grouped(accountId, group, '2000-01-01', '2100-01-01')
      const own = all.filter((row) => row.accountId === accountId)
      assert.deepEqual(
        sums.map((row) => [row.group, row.savedMicro]),
        [...new Set(own.map(of))]
          .toSorted()
          .map((id) => [
            id,
            BigInt(own.filter((row) => of(row) === id).reduce((sum, { cacheSaved = 0 }) => sum + cacheSaved, 0)),
          ]),
      )
    }
  })

  log(
    'the sums by hour are those of the rows that ended in it, in a time and of one account',
    async (bench, customers) => {
      const [{ accountId } = assert.fail()] = customers
      const all = (await bench.store.generations.list({ limit: 1_000, offset: 0 })).data
      const own = all.filter((row) => row.accountId === accountId)
      const ends = own.map(({ endedAtMs }) => endedAtMs).toSorted((a, b) => a - b)
      const [fromMs = 0, toMs = 0] = [ends[2], ends.at(-2)]
      const inside = own.filter(({ endedAtMs }) => endedAtMs >= fromMs && endedAtMs < toMs)
      assert.ok(inside.length > 10 && inside.length < own.length, String(inside.length))
      const cell = (atMs: number, group: string): string => `${Math.floor(atMs / HOUR_MS) * HOUR_MS} ${group}`
      for (const [group, of] of [
        ['model', ({ model }: GenerationRow) => model],
        ['key', ({ keyId }: GenerationRow) => keyId],
        ['person', ({ keyId }: GenerationRow) => (keyId === customers[2]?.keyId ? 'usr_maker' : '')],
        ['app', ({ appUrl, appTitle }: GenerationRow) => appUrl ?? appTitle ?? ''],
      ] as const) {
        const found = (await bench.store.log.hours({ accountId, fromMs, toMs }, group)) ?? assert.fail()
        const expected = Map.groupBy(inside, (row) => cell(row.endedAtMs, of(row)))
        assert.deepEqual(
          new Map(
            found.map((row) => [
              cell(row.atMs, row.group),
              [row.requests, row.errors, row.inputTokens, row.outputTokens, row.costMicro, row.savedMicro],
            ]),
          ),
          new Map(
            [...expected].map(([name, rows]) => [
              name,
              [
                rows.length,
                rows.filter(({ status }) => status === 'error').length,
                rows.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
                rows.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
                rows.reduce((sum, { costMicro }) => sum + costMicro, 0n),
                BigInt(rows.reduce((sum, { cacheSaved = 0 }) => sum + cacheSaved, 0)),
              ],
            ]),
          ),
        )
      }
      assert.deepEqual(await bench.store.log.hours({ accountId, fromMs: 0, toMs: 1 }, 'model'), [])
      assert.deepEqual(await bench.store.log.hours({ accountId: 'acc_none', fromMs: 0, toMs }, 'model'), [])
      const [first] = await bench.store.log.days(accountId, '2000-01-01', '2100-01-01')
      assert.equal(await bench.store.log.firstDay(accountId), first?.day)
      assert.equal(await bench.store.log.firstDay('acc_none'), null)
    },
  )

  log('of all accounts, what caches saved by model and by key, the largest first', async (bench) => {
    const all = (await bench.store.generations.list({ limit: 1_000, offset: 0 })).data
    const { models, keys } = (await bench.store.generations.margin('2000-01-01', '2100-01-01')).caches
    for (const [found, of] of [
      [models, ({ model }: GenerationRow) => model],
      [keys, ({ keyId }: GenerationRow) => keyId],
    ] as const) {
      const expected = new Map<string, bigint>()
      for (const row of all) expected.set(of(row), (expected.get(of(row)) ?? 0n) + BigInt(row.cacheSaved ?? 0))
      assert.deepEqual(
        new Map(found.map(({ id, savedMicro }) => [id, savedMicro])),
        new Map([...expected].filter(([, saved]) => saved !== 0n)),
      )
      assert.deepEqual(
        found.map(({ savedMicro }) => savedMicro),
        found.map(({ savedMicro }) => savedMicro).toSorted((left, right) => (left < right ? 1 : -1)),
      )
    }
    const [key] = keys
    assert.equal(all.find(({ keyId }) => keyId === key?.id)?.accountId, key?.accountId)
    assert.deepEqual((await bench.store.generations.margin('2000-01-01', '2000-01-02')).caches, {
      models: [],
      keys: [],
    })
  })

  log('of all accounts, each price of the models that were sold under a condition', async (bench) => {
    const all = (await bench.store.generations.list({ limit: 1_000, offset: 0 })).data
    const under = new Set(all.filter(({ condition }) => condition !== undefined).map(({ model }) => model))
    const rows = all.filter(({ model }) => under.has(model))
    const { conditions } = await bench.store.generations.margin('2000-01-01', '2100-01-01')
    assert.ok(conditions.length > under.size)
    assert.deepEqual(
      new Map(
        conditions.map(({ group, condition, requests, revenueMicro }) => [
          `${group} ${condition}`,
          [requests, revenueMicro],
        ]),
      ),
      new Map(
        [...Map.groupBy(rows, ({ model, condition = '' }) => `${model} ${condition}`)].map(([name, own]) => [
          name,
          [own.length, own.reduce((sum, { costMicro }) => sum + costMicro, 0n)],
        ]),
      ),
    )
  })

  log('the accounts that used a model since a day, those that paid the most first', async (bench) => {
    const all = (await bench.store.generations.list({ limit: 1_000, offset: 0 })).data
    const models = [...new Set(all.map(({ model }) => model))].slice(0, 2)
    const expected = new Map<string, { requests: number; revenueMicro: bigint }>()
    for (const { accountId, model, costMicro } of all) {
      if (!models.includes(model)) continue
      const { requests, revenueMicro } = expected.get(accountId) ?? { requests: 0, revenueMicro: 0n }
      expected.set(accountId, { requests: requests + 1, revenueMicro: revenueMicro + costMicro })
    }
    const { total, data } = await bench.store.generations.usersOf(models, '2000-01-01', 1_000)
    assert.equal(total, expected.size)
    assert.deepEqual(new Map(data.map(({ accountId, ...sums }) => [accountId, sums])), expected)
    const paid = data.map(({ revenueMicro }) => revenueMicro)
    assert.deepEqual(
      paid,
      paid.toSorted((left, right) => (left < right ? 1 : -1)),
    )
    const [largest] = data
    assert.deepEqual(await bench.store.generations.usersOf(models, '2000-01-01', 1), { total, data: [largest] })
    assert.deepEqual(await bench.store.generations.usersOf(models, '2100-01-01', 9), { total: 0, data: [] })
    const used = await bench.store.generations.customersOf(models, '2000-01-01')
    assert.deepEqual(
      new Map(
        [...Map.groupBy(used, ({ group }) => group)].map(([id, own]) => [
          id,
          {
            requests: own.reduce((sum, { requests }) => sum + requests, 0),
            revenueMicro: own.reduce((sum, { revenueMicro }) => sum + revenueMicro, 0n),
          },
        ]),
      ),
      expected,
    )
    assert.ok(used.every(({ model, provider }) => models.includes(model) && provider !== ''))
    assert.deepEqual(await bench.store.generations.customersOf([], '2000-01-01'), [])
  })

  log(
    'every mix of filters answers its page and its total, as if each row had been looked at; an offset that would have to skip many rows one by one is refused, and of an account alone it may be anything',
    async (bench, customers) => {
      const all = (await bench.store.generations.list({ limit: 1_000, offset: 0 })).data
      assert.equal(all.length, ROWS)
      let asked = 0
      // On PostgreSQL each question is a few round trips.
      const every = bench.store.kind === 'postgres' ? form({ short: 181, long: 53 }) : form({ short: 23, long: 5 })
      for (const filter of filters(customers, all)) {
        asked += 1
        if (asked % every !== 0) continue
        const page = await bench.store.generations.list(filter)
        const rows = expected(all, filter)
        assert.deepEqual(
          { total: page.total, ids: page.data.map(({ id }) => id) },
          { total: rows.length, ids: rows.slice(1, 5).map(({ id }) => id) },
          JSON.stringify(filter),
        )
        assert.equal(page.atLeast, undefined)
        const { accountId, requestId, generationId } = filter
        if (accountId === undefined || requestId !== undefined || generationId !== undefined) continue
        const own = await bench.store.log.page({ ...filter, accountId, beforeSeq: null, limit: ROWS })
        assert.deepEqual(
          own.data.map(({ id }) => id),
          rows.map(({ id }) => id),
          JSON.stringify(filter),
        )
      }
      assert.ok(asked > 1_000)
      const [customer] = customers
      await assert.rejects(
        bench.store.generations.list({ model: 'rare/model', limit: 1, offset: 10_001 }),
        /offset: at most 10000/,
      )
      assert.deepEqual(
        await bench.store.generations.list({ accountId: customer?.accountId ?? '', limit: 1, offset: 1_000_000_000 }),
        { data: [], total: 40 },
      )
    },
  )

  log(
    'old rows go, oldest first, and nothing else does: pages, totals, sums, the audit and new rows are right',
    async (bench, customers) => {
      const { generations, logUpkeep } = bench.store
      const all = (await generations.list({ limit: 1_000, offset: 0 })).data
      const usage = await generations.usage({ groupBy: 'model', fromDay: '2026-01-01', toDay: '2027-01-01' })
      const beforeMs = NOON_MS + 25_000
      assert.equal(await logUpkeep.removeSome(beforeMs), 24)
      assert.equal(await logUpkeep.removeSome(beforeMs), 0)
      await bench.auditClean()
      const kept = all.filter(({ endedAtMs }) => endedAtMs >= beforeMs)
      assert.deepEqual(
        (await generations.list({ limit: 1_000, offset: 0 })).data.map(({ id }) => id),
        kept.map(({ id }) => id),
      )
      for (const { accountId } of customers) {
        const own = kept.filter((row) => row.accountId === accountId)
        const page = await generations.list({ accountId, limit: 3, offset: own.length - 2 })
        assert.deepEqual(
          { total: page.total, ids: page.data.map(({ id }) => id) },
          { total: own.length, ids: own.slice(-2).map(({ id }) => id) },
        )
        assert.equal((await generations.list({ accountId, fromMs: NOON_MS, limit: 3, offset: 0 })).total, own.length)
      }
      assert.deepEqual(await generations.usage({ groupBy: 'model', fromDay: '2026-01-01', toDay: '2027-01-01' }), usage)
      await fill(bench, customers)
      assert.equal(
        (await generations.list({ accountId: customers[1]?.accountId ?? '', limit: 1, offset: 0 })).total,
        12 + 20,
      )
    },
  )

  log('when all is old the newest row stays, so that no number is given twice', async (bench, customers) => {
    const { generations, logUpkeep } = bench.store
    const [newest] = (await generations.list({ limit: 1, offset: 0 })).data
    const spent = await bench.spend(customers[0] ?? { accountId: '', keyId: '', digest: Buffer.alloc(0) })
    bench.clock.advance(90 * 86_400_000)
    const named = (await generations.list({ limit: 1_000, offset: 0 })).data.filter(
      ({ endUser }) => endUser !== undefined,
    )
    assert.ok(named.length > 5)
    assert.equal(await logUpkeep.removeEndUsers(), 0, 'their rows are there')
    assert.equal(await logUpkeep.removeSome(bench.clock.now() - 86_400_000), ROWS - 1)
    assert.equal(await logUpkeep.removeEndUsers(), named.length)
    assert.equal(await logUpkeep.removeEndUsers(), 0)
    assert.equal(await logUpkeep.removeSome(bench.clock.now() - 86_400_000), 0)
    assert.deepEqual(
      (await generations.list({ limit: 10, offset: 0 })).data.map(({ id }) => id),
      [newest?.id],
    )
    await bench.auditClean()
    await fill(bench, customers)
    const ids = (await generations.list({ limit: 1_000, offset: 0 })).data.map(({ id }) => id)
    assert.ok(ids.length === ROWS + 1 && Math.min(...ids) === newest?.id)
    assert.equal(
      (await bench.spend(customers[0] ?? { accountId: '', keyId: '', digest: Buffer.alloc(0) })).total,
      2n * spent.total,
    )
  })

  log('rows are removed by two nodes at once, each once', async (bench) => {
    const { logUpkeep, generations } = bench.store
    // If one waits too long for the other, its keeper repeats it.
    const removed = await Promise.allSettled(Array.from({ length: 4 }, () => logUpkeep.removeSome(NOON_MS + 40_000)))
    assert.ok(removed.some((result) => result.status === 'fulfilled' && result.value > 0))
    assert.equal((await generations.list({ limit: 1, offset: 0 })).total, 21)
  })
}
