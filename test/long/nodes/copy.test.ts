import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pg from 'pg'
import { KEK, runCli, type Outcome } from '../../harness/cli-run.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { startTollgate } from '../../harness/server.ts'
import { lasting, freshFolder } from '../../harness/lasting.ts'

const OTHER_KEK = Buffer.alloc(32, 'x').toString('base64')
/** Tables that each store has for itself. */
const OWN = ['schema_version', 'rolled_up', 'row_journal']
const CHAT = { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }] }

const directory = freshFolder()
const database = await lasting(startPostgres())
function copy(env: Record<string, string> = {}): Promise<Outcome> {
  return runCli(['copy'], {
    TOLLGATE_DATA: directory,
    DATABASE_URL: database?.url ?? '',
    TOLLGATE_KEK: KEK,
    ...env,
  })
}

/** Every row as a text, by table. */
function embeddedRows(): ReadonlyMap<string, readonly string[]> {
  const store = new DatabaseSync(join(directory, 'tollgate.db'), { readOnly: true, readBigInts: true })
  try {
    const names = store.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`).all()
    return new Map(
      names
        .map(({ name }) => String(name))
        .filter((name) => !OWN.includes(name))
        .toSorted()
        .map((name) => [name, store.prepare(`SELECT * FROM ${name}`).all().map(textOf).toSorted()]),
    )
  } finally {
    store.close()
  }
}

async function copiedRows(names: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const types = new pg.TypeOverrides()
  types.setTypeParser(20, (value) => BigInt(value))
  const client = new pg.Client({ connectionString: database?.url, types })
  await client.connect()
  const tables = new Map<string, readonly string[]>()
  for (const name of names) tables.set(name, (await client.query(`SELECT * FROM ${name}`)).rows.map(textOf).toSorted())
  await client.end()
  return tables
}

function textOf(row: Readonly<Record<string, unknown>>): string {
  const plain = (value: unknown): string =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
  return Object.keys(row)
    .toSorted()
    .map((name) => `${name}=${plain(row[name])}`)
    .join(' ')
}

test('tollgate copy moves an embedded store to PostgreSQL: every row and file, money exact, and the service goes on', async (t) => {
  if (database === null) return t.skip('no PostgreSQL on this machine')
  const env = { TOLLGATE_KEK: KEK }
  const embedded = await startTollgate({ dataDir: directory, env })
  const { id, key } = await embedded.createAccount({ balance: 50 })
  const headers = { 'idempotency-key': 'once' }
  const first = await embedded.request('POST', '/v1/chat/completions', { key, body: CHAT, headers })
  assert.equal(first.status, 200, first.text)
  for (let index = 0; index < 20; index += 1) {
    const { status, text } = await embedded.post('/v1/chat/completions', key, CHAT)
    assert.equal(status, 200, text)
  }
  const drawn = await embedded.post('/v1/images/generations', key, {
    model: 'sandbox/image',
    prompt: 'a house',
    response_format: 'url',
  })
  assert.equal(drawn.status, 200, drawn.text)
  const picture = new URL(drawn.body.data[0].url)
  const shown = await embedded.request('GET', `${picture.pathname}${picture.search}`)
  const kept = await embedded.post('/v1/responses', key, { model: 'sandbox/chat', input: 'Hello', store: true })
  assert.equal(kept.status, 200, kept.text)
  const busy = await copy()
  assert.equal(busy.code, 1)
  assert.match(busy.err, /A server has the store in .* open: stop it first/)
  const { body: balance } = await embedded.get('/v1/user/balance', key)
  await embedded.stop()

  const wrong = await copy({ TOLLGATE_KEK: OTHER_KEK })
  assert.equal(wrong.code, 1)
  assert.match(wrong.err, /TOLLGATE_KEK/)
  setFirstHold('open')
  const open = await copy()
  assert.equal(open.code, 1)
  assert.match(open.err, /1 holds are open, because the server was killed/)
  setFirstHold('settled')

  setFirstName('a\0b')
  const nul = await copy()
  assert.equal(nul.code, 1)
  assert.match(
    nul.err,
    /^tollgate: Row id = "\w+" of table account holds the character NUL in its column name, .*: nothing was copied. Change it /,
  )
  setFirstName('a')
  setFirstModel('a\0b')
  assert.match((await copy()).err, /of table generation .* in its column model, .* Such a row is never changed, /)
  setFirstModel('sandbox/chat')

  const copied = await copy()
  assert.deepEqual([copied.code, copied.err], [0, ''])
  assert.match(copied.out, /^Copied \d+ rows of \d+ tables and 1 stored files$/)
  const rows = embeddedRows()
  assert.deepEqual(await copiedRows([...rows.keys()]), rows)
  assert.equal(rows.get('generation')?.length, 23)
  const again = await copy()
  assert.equal(again.code, 1)
  assert.match(again.err, /The database of DATABASE_URL is in use/)

  const moved = await lasting(startTollgate({ env: { ...env, DATABASE_URL: database.url } }))
  assert.deepEqual((await moved.get('/v1/user/balance', key)).body, balance)
  const repeated = await moved.request('POST', '/v1/chat/completions', { key, body: CHAT, headers })
  assert.deepEqual(repeated.body, first.body, 'the same answer, not a second charge')
  assert.equal((await moved.request('GET', `${picture.pathname}${picture.search}`)).text, shown.text)
  assert.equal((await moved.get(`/v1/responses/${kept.body.id}`, key)).status, 200)
  assert.equal((await moved.post('/v1/chat/completions', key, CHAT)).status, 200)
  const topUp = { kind: 'topup', amount: 1, reason: 'test', reference: 'after' }
  assert.equal((await moved.admin('POST', `/admin/v1/accounts/${id}/ledger`, topUp)).status, 201)
})

function setFirstName(name: string): void {
  const store = new DatabaseSync(join(directory, 'tollgate.db'))
  store.prepare('UPDATE account SET name = ? WHERE id = (SELECT MIN(id) FROM account)').run(name)
  store.close()
}

function setFirstModel(model: string): void {
  const store = new DatabaseSync(join(directory, 'tollgate.db'))
  store.prepare('UPDATE generation SET model = ? WHERE id = (SELECT MIN(id) FROM generation)').run(model)
  store.close()
}

function setFirstHold(state: string): void {
  const store = new DatabaseSync(join(directory, 'tollgate.db'))
  store.prepare('UPDATE hold SET state = ? WHERE id = (SELECT MIN(id) FROM hold)').run(state)
  store.close()
}

test('tollgate copy says what is missing: the database, or the store', async () => {
  const none = await copy({ DATABASE_URL: '' })
  assert.equal(none.code, 2)
  const nothing = join(directory, 'nothing')
  const { code, err } = await copy({ TOLLGATE_DATA: nothing, DATABASE_URL: 'postgres://127.0.0.1:1/x' })
  assert.equal(code, 1)
  assert.match(err, /There is no store in .*nothing\. Is TOLLGATE_DATA right\?/)
  assert.ok(!existsSync(nothing))
})
