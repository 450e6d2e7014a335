import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PAGE_DEPTH_MAX } from '../../src/base/query-parameters.ts'
import type { Page, PageRange } from '../../src/store/page.ts'
import type { Store } from '../../src/store/store.ts'
import { accountsStatement } from '../harness/full-log.ts'
import type { OpenedBelow } from './append-only.ts'
import { oneOf } from '../harness/form.ts'
import { until } from '../harness/patience.ts'
import { NOON_MS } from './ledger-fixture.ts'

/** More than an offset may skip. */
const ROWS = 12_000
const READ = 1_000
const PAGE = 50
const TURNS = 11
/** Skipping the rows above the last page would cost much more. */
const GROWTH_MAX = 5

const FOUND = 'accounts found'

type Rows = Page<{ readonly id: string | number }>
type List = (range: PageRange) => Promise<Rows>

const NUMBERS = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ROWS})`

/** Rows of each table. Seven of each are made in the same millisecond. */
function statements(blob: (text: string) => string): readonly string[] {
  const at = `${NOON_MS} + n / 7`
  return [
    accountsStatement(ROWS, NOON_MS),
    `INSERT INTO redeem_code (id, digest, label, amount, uses_max, created_by, created_at) ${NUMBERS} SELECT 'code_' || n, ${blob('n')}, 'AAAA', 5, 1, 'bench', ${at} FROM numbers`,
    `INSERT INTO payment_order (id, account_id, method, amount, currency, state, created_at) ${NUMBERS} SELECT 'pay_' || n, 'acc_full_7', 'yookassa', 5, 'RUB', 'cancelled', ${at} FROM numbers`,
    `INSERT INTO console_user (id, email, name, role, created_at) ${NUMBERS} SELECT 'user_' || n, 'user' || n || '@example.com', 'User', 'user', ${at} FROM numbers`,
    `INSERT INTO admin_token (id, name, digest, label, scopes, created_by, created_at) ${NUMBERS} SELECT 'tok_' || n, 'token-' || n, ${blob('n')}, 'sk', '[]', 'bench', ${at} FROM numbers`,
    `INSERT INTO event (at, actor, action, object, hash) ${NUMBERS} SELECT ${at}, 'bench', 'code.update', 'code_' || n, '' FROM numbers`,
  ]
}

/** Every list that is paged by `readPage` and grows with the customers, in each of its orders. */
function listsOf(store: Store): Readonly<Record<string, List>> {
  const { accounts, codes, payments, users, adminTokens, events } = store
  const user = { accountId: null, role: null, query: null }
  return {
    'accounts, newest': (range) => accounts.list({ query: null, ...range }),
    'accounts by name': (range) => accounts.list({ query: null, order: 'name', ...range }),
    'accounts by name, the last first': (range) => accounts.list({ query: null, order: '-name', ...range }),
    [FOUND]: (range) => accounts.list({ query: 'client', order: 'created_at', ...range }),
    'codes, newest': (range) => codes.list(range),
    'codes, oldest': (range) => codes.list({ ...range, order: 'created_at' }),
    'payments, newest': (range) => payments.list({ accountId: null, ...range }),
    'payments of an account': (range) => payments.list({ accountId: 'acc_full_7', ...range }),
    'people, newest': (range) => users.list({ ...user, ...range }),
    'people by e-mail': (range) => users.list({ ...user, order: 'email', ...range }),
    tokens: (range) => adminTokens.list(range),
    'events, newest': (range) => events.list(range),
    'events, oldest': (range) => events.list(range, {}, 'at'),
  }
}

async function isFound(store: Store, query: string): Promise<boolean> {
  const { data } = await store.accounts.list({ query, limit: 1, offset: 0 })
  return data.length === 1
}

/** The cursor before the last page, after every row was seen once, in the order in which offsets have them. */
async function walked(name: string, list: List): Promise<string> {
  const ids: (string | number)[] = []
  let before = ''
  for (let cursor: string | null = null; ;) {
    const range: PageRange = { limit: READ, offset: 0, uncounted: ids.length > 0, cursor }
    const page = await list(range)
    if (ids.length === 0) assert.ok(page.total >= ROWS || page.atLeast === true, `${name}: ${page.total}`)
    if (ids.length === PAGE_DEPTH_MAX) {
      const same = await list({ limit: READ, offset: ids.length, uncounted: true })
      assert.deepEqual(
        same.data.map(({ id }) => id),
        page.data.map(({ id }) => id),
        name,
      )
    }
    ids.push(...page.data.map(({ id }) => id))
    if (page.next === undefined) break
    before = cursor ?? before
    cursor = page.next
  }
  assert.ok(ids.length >= ROWS, name)
  assert.equal(new Set(ids).size, ids.length, name)
  return before
}

/** Of the page at each cursor, measured in turns, so that other work of the machine slows all of them. */
async function medianMs(list: List, cursors: readonly (string | null)[]): Promise<readonly number[]> {
  const took: number[][] = cursors.map(() => [])
  for (let turn = 0; turn < TURNS; turn += 1)
    for (const [index, cursor] of cursors.entries()) {
      const startMs = performance.now()
      await list({ limit: PAGE, offset: 0, cursor, uncounted: true })
      took[index]?.push(performance.now() - startMs)
    }
  return took.map((each) => each.toSorted((one, other) => one - other)[Math.floor(TURNS / 2)] ?? 0)
}

/** Lists that are paged. */
export function pageContract(open: () => Promise<OpenedBelow>, blob: (text: string) => string): void {
  test('each page of a list is as quick as its first, and a walk by cursors has each row once; no offset skips more than a bound', async () => {
    const opened = await open()
    for (const statement of statements(blob)) await opened.below(statement)
    // As the database does by itself soon after so many rows.
    await opened.below('ANALYZE')
    const { store } = opened
    for (const [name, list] of oneOf(5, Object.entries(listsOf(store)))) {
      // Words are written in the order in which their accounts were.
      if (name === FOUND) await until(120_000, 'the words are written', () => isFound(store, `client${ROWS}`))
      const deep = await walked(name, list)
      const [first = 0, last = 0] = await medianMs(list, [null, deep])
      assert.ok(
        last < first * GROWTH_MAX,
        `${name}: the first page ${first.toFixed(2)} ms, a deep one ${last.toFixed(2)} ms`,
      )
      const refused = (range: Partial<PageRange>, what: RegExp): Promise<void> =>
        assert.rejects(async () => list({ limit: PAGE, offset: 0, ...range }), what)
      await refused({ offset: PAGE_DEPTH_MAX + 1 }, /offset: must be a whole number from 0 to 10000; .+ as cursor$/)
      for (const cursor of ['', 'x', deep.slice(0, -4), Buffer.from('["-at","a","b"]').toString('base64url')])
        await refused({ cursor }, /cursor: must be one that an answer/)
    }
    const oldest = await store.codes.list({ limit: 1, offset: 0, order: 'created_at' })
    assert.ok(oldest.next !== undefined)
    await assert.rejects(async () => store.codes.list({ limit: 1, offset: 0, cursor: oldest.next ?? '' }), /same order/)
    await store.close()
  })
}
