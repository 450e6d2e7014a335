import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../src/base/time.ts'
import { gateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { refusedInWords as refused } from '../harness/refused.ts'

/** More than one read of a file. */
const ACCOUNTS = 320
const REQUESTS = 12

const server = await gateway()
for (let from = 0; from < ACCOUNTS; from += 20)
  await Promise.all(
    Array.from({ length: 20 }, (_value, at) =>
      server.admin('POST', '/admin/v1/accounts', { name: `Client ${String(from + at).padStart(3, '0')}` }),
    ),
  )
await server.admin('POST', '/admin/v1/accounts', { name: '=1+1;@x' })
const { id, key } = await server.createAccount()
const billed = id
for (let turn = 0; turn < REQUESTS; turn += 1)
  await server.post('/v1/chat/completions', key, {
    model: 'sandbox/chat',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'Hello' }],
  })

/** The cells of a file by the names of their columns; its texts have no commas. */
async function file(path: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const answer = await server.admin('GET', path)
  assert.equal(answer.status, 200, answer.text)
  assert.match(answer.headers['content-type'] ?? '', /^text\/csv/)
  assert.match(
    answer.headers['content-disposition'] ?? '',
    /^attachment; filename="tollgate-[a-z-]+-\d{4}-\d\d-\d\d\.csv"$/,
  )
  const [head = '', ...lines] = answer.text
    .replace(/^\uFEFF/, '')
    .trimEnd()
    .split('\r\n')
  const names = head.split(',')
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, at) => [names[at] ?? '', cell])))
}

/** Every row of a list by its cursors. */
async function walked(path: string, limit: number): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const rows: Readonly<Record<string, unknown>>[] = []
  for (let cursor = ''; ;) {
    const { status, body, text } = await server.admin(
      'GET',
      `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${cursor}`,
    )
    assert.equal(status, 200, text)
    rows.push(...body.data)
    if (body.next_cursor === undefined) return rows
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
}

test('a file of accounts has all that is filtered, in its order, with a column for each field, safe for a spreadsheet', async () => {
  const rows = await file('/admin/v1/accounts?format=csv&sort=name&query=client')
  assert.deepEqual(
    rows.map(({ name }) => name),
    Array.from({ length: ACCOUNTS }, (_value, at) => `Client ${String(at).padStart(3, '0')}`),
  )
  const { data } = (await server.admin('GET', '/admin/v1/accounts?limit=1&sort=name&query=client')).body
  assert.equal(rows[0]?.['id'], data[0].id)
  assert.deepEqual([rows[0]?.['rate_limit.requests'], rows[0]?.['status'], rows[0]?.['balance']], ['', 'active', '0'])
  assert.equal((await file('/admin/v1/accounts?format=csv&query=%3D')).length, 1)
  assert.match((await server.admin('GET', '/admin/v1/accounts?format=csv&query=%3D')).text, /,"'=1\+1;'@x",/)
})

test('a walk by cursors has each row once, in the order of the list; a cursor of another order is refused', async () => {
  const all = (await server.admin('GET', '/admin/v1/accounts?limit=1000')).body
  assert.equal(all.next_cursor, undefined)
  assert.deepEqual(
    (await walked('/admin/v1/accounts', 50)).map(({ id }) => id),
    all.data.map(({ id }: { id: string }) => id),
  )
  const { next_cursor: cursor } = (await server.admin('GET', '/admin/v1/accounts?limit=1')).body
  refused(await server.admin('GET', `/admin/v1/accounts?sort=name&cursor=${cursor}`), 400, 'invalid_input', /cursor/)
  refused(await server.admin('GET', '/admin/v1/accounts?offset=10001'), 400, 'invalid_input', /10000; .+ cursor/)
  refused(await server.admin('GET', '/admin/v1/accounts?format=xml'), 400, 'invalid_input', /format/)
})

test('a ledger is walked and saved with the balance of each line', async () => {
  const path = `/admin/v1/accounts/${billed}/ledger`
  const { data, total } = (await server.admin('GET', path)).body
  assert.equal(total, REQUESTS + 1)
  assert.deepEqual(await walked(path, 3), data)
  const rows = await file(`${path}?format=csv`)
  assert.deepEqual(
    rows.map(({ id, amount, balance }) => [Number(id), Number(amount), Number(balance)]),
    data.map(({ id, amount, balance }: Record<string, number>) => [id, amount, balance]),
  )
  refused(await server.admin('GET', `${path}?cursor=x`), 400, 'invalid_input', /cursor/)
})

test('the log is walked and saved: of all, of an account, with a filter that has an index and with one that has none', async () => {
  for (const filter of [
    '',
    `?account=${billed}`,
    `?account=${billed}&model=sandbox/chat`,
    '?provider=sandbox',
    '?status=error',
  ]) {
    const path = `/admin/v1/generations${filter}`
    const { data } = (await server.admin('GET', path)).body
    assert.equal(data.length, filter === '?status=error' ? 0 : REQUESTS, filter)
    assert.deepEqual(await walked(path, 5), data, filter)
    const rows = await file(`${path}${filter === '' ? '?' : '&'}format=csv`)
    assert.deepEqual(
      rows.map((row) => row['generation_id']),
      data.map((row: { generation_id: string }) => row.generation_id),
      filter,
    )
  }
  refused(
    await server.admin('GET', `/admin/v1/generations?account=${billed}&cursor=id_5`),
    400,
    'invalid_input',
    /cursor/,
  )
})

test('every log is read, walked and saved by days, and says what a time is', async () => {
  const wrong = { temperature: 'hot', model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }] }
  await server.post('/v1/chat/completions', key, wrong)
  await until(20_000, 'the refusal', async () => (await server.admin('GET', '/admin/v1/refusals')).body.total === 1)
  const day = (shift: number): string => new Date(Date.now() + shift * DAY_MS).toISOString()
  for (const path of [
    `/admin/v1/generations?account=${billed}`,
    `/admin/v1/accounts/${billed}/ledger?kind=money`,
    `/admin/v1/accounts/${billed}/ledger?limit=500`,
    '/admin/v1/events?action=account.',
    '/admin/v1/refusals?',
  ]) {
    const read = async (range: string): Promise<unknown> => (await server.admin('GET', `${path}&${range}`)).body
    const all = (await server.admin('GET', path)).body
    assert.ok(all.total > 0, path)
    assert.deepEqual(await read(`from=${day(-1)}&to=${day(1)}`), all, path)
    assert.deepEqual(await read(`from=${day(-1)}`), all, path)
    for (const range of [`from=${day(1)}`, `to=${day(-1)}`, `from=${day(1)}&to=${day(-1)}`]) {
      const none = await server.admin('GET', `${path}&${range}`)
      assert.deepEqual([none.body.total, none.body.data], [0, []], `${path} ${range}`)
    }
    assert.equal((await file(`${path}&format=csv&from=${day(1)}`)).length, 0, path)
    for (const edge of ['from', 'to'])
      refused(await server.admin('GET', `${path}&${edge}=yesterday`), 400, 'invalid_input', /ISO time/)
  }
})

test('a file needs the scope of its list', async () => {
  const made = await server.admin('POST', '/admin/v1/tokens', { name: 'files', scopes: ['accounts:read'] })
  assert.equal(made.status, 201, made.text)
  const key = made.body.token
  assert.equal((await server.get('/admin/v1/accounts?format=csv', key)).status, 200)
  refused(await server.get('/admin/v1/generations?format=csv', key), 403, 'access_denied')
  refused(await server.get(`/admin/v1/accounts/${billed}/ledger?format=csv`, key), 403, 'access_denied')
})
