import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { Ledger } from '../../src/ledger/ledger.ts'
import { openBooks } from '../../src/store/audit/book-seal.ts'
import { backupStore } from '../../src/store/backup.ts'
import { EntryStore } from '../../src/store/ledger/entry-store.ts'
import { openStore } from '../../src/store/open.ts'
import { SqliteDatabase } from '../../src/store/sqlite/database.ts'
import {
  JournalFileBytes,
  ROW_HALF_BYTES,
  record,
  recordAt,
  recordBytes,
  rowJournalPath,
} from '../../src/store/sqlite/row-journal.ts'
import { SqliteLedger } from '../../src/store/sqlite/ledger.ts'
import { decodeRows, encodeRows } from '../../src/store/sqlite/pending-rows.ts'
import { form } from '../harness/form.ts'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import { Random } from '../sim/random.ts'
import { Bench, newId, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'

const BALANCE = 1_000_000n
const COST = 7n
const OLD_HALF = 1_048_576
const FILES = ['tollgate.db', 'tollgate.db-wal', 'tollgate.rows']
const CUTS = form({ short: 12, long: 300 })
const STEPS = 14

const directories: string[] = []
after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

function newDirectory(): string {
  const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'tollgate-rows-'))
  directories.push(directory)
  return directory
}

async function opened(dataDir = newDirectory()): Promise<Bench & { readonly dataDir: string }> {
  const store = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
  return Object.assign(new Bench(store, new TestClock(NOON_MS)), { dataDir })
}

/** What lies on the disk when the process is killed now. */
function killed(dataDir: string): string {
  const directory = newDirectory()
  for (const name of FILES)
    if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(directory, name))
  return directory
}

async function charged(bench: Bench, customer: Customer, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => newId('gen-'))
  for (const id of ids) {
    await bench.hold(customer, 10n, id)
    assert.equal((await bench.settle(customer, id, COST)).status, 'settled')
  }
  return ids
}

/** A store whose first charge is in the tables and whose others are in the journal alone. */
async function withJournaled(): Promise<{
  readonly bench: Awaited<ReturnType<typeof opened>>
  readonly customer: Customer
  readonly ids: readonly string[]
}> {
  const bench = await opened()
  const customer = await bench.customer(BALANCE)
  const ids = await charged(bench, customer, 5)
  return { bench, customer, ids }
}

function rowsIn(dataDir: string): number {
  const database = new DatabaseSync(join(dataDir, 'tollgate.db'))
  try {
    return Number(database.prepare('SELECT COUNT(*) AS rows FROM generation').get()?.['rows'])
  } finally {
    database.close()
  }
}

/** The journal's bytes with each whole record, as the store's mark reads them. */
function recordsOf(dataDir: string): { readonly bytes: Buffer; readonly mark: number; readonly places: number[] } {
  const database = new DatabaseSync(join(dataDir, 'tollgate.db'))
  const mark = Number(database.prepare('SELECT mark FROM row_journal').get()?.['mark'])
  database.close()
  const bytes = readFileSync(rowJournalPath(dataDir))
  const places: number[] = []
  for (let at = 0; ;) {
    const one = recordAt(bytes, at, null, mark)
    if (one === null) return { bytes, mark, places }
    places.push(at)
    at += recordBytes(one.payload.length)
  }
}

test('rows keep every value exactly; what no program of this layout has written is refused in words', () => {
  const account = [9_007_199_254_740_993n, 3n, -1n, '{"a":"\\u0000 «ы»"}', 0n, 0n, 0n, null, 5n, 'seal', 'acc_2']
  const rows = { accounts: [account], keys: [[5n, 'key']], holds: [], entries: [], log: [] }
  assert.deepEqual(decodeRows(encodeRows(rows)), rows)
  const key = [[1, 'key']]
  for (const strange of [
    [2, [], key, [], [], []],
    [1, [], key, [], []],
    [1, [], [[1]], [], [], []],
    [1, [[7, 3, 2, 'head', 0, 0, 0, 'seal', 'acc_1']], key, [], [], []],
    [1, [], [[1.5, 'key']], [], [], []],
    [1, [], [[{}, 'key']], [], [], []],
    [1, [], [[['1; DROP TABLE entry'], 'key']], [], [], []],
    {},
    null,
  ])
    assert.throws(() => decodeRows(Buffer.from(JSON.stringify(strange))), /tollgate\.rows: start that program once/)
})

test('an end with a value that no table takes is refused alone: nothing of it waits in the journal', async () => {
  const { bench, customer } = await withJournaled()
  const [before, bad, after] = [newId('gen-'), newId('gen-'), newId('gen-')]
  for (const id of [before, bad, after]) await bench.hold(customer, 10n, id)
  const request = { generationId: bad, costMicro: COST, insuredMicro: 0n, record: bench.record(customer, bad) }
  const outcomes = await Promise.allSettled([
    bench.settle(customer, before, COST),
    bench.ledger.settle({ ...request, providerCostMicro: 2n ** 63n }),
    bench.settle(customer, after, COST),
  ])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(await bench.money(customer.accountId), { available: BALANCE - 7n * COST - 10n, held: 10n })
  assert.equal((await bench.settle(customer, bad, COST)).status, 'settled')
  await charged(bench, customer, 3)
  await bench.auditClean()
  await bench.ledger.stop()
  await bench.store.close()
})

test('kill -9: charges that only the journal has are there after the start, once, and a repeat charges nothing', async () => {
  const { bench, customer, ids } = await withJournaled()
  const dataDir = killed(bench.dataDir)
  assert.ok(rowsIn(dataDir) < ids.length, 'some charges are in the journal alone')
  for (let start = 0; start < 2; start += 1) {
    const again = await opened(dataDir)
    await again.auditClean()
    for (const id of ids) assert.equal((await again.settle(customer, id, COST)).status, 'replayed')
    assert.deepEqual(await again.money(customer.accountId), { available: BALANCE - 5n * COST, held: 0n })
    await again.store.close()
  }
  await bench.store.close()
})

test('kill -9 while rows go to their tables in slices, with both halves of an earlier, smaller file in use: every charge is there, once', async () => {
  const first = await opened()
  const customer = await first.customer(BALANCE)
  await first.store.close()
  rmSync(rowJournalPath(first.dataDir), { force: true })
  const database = new SqliteDatabase(first.dataDir)
  const { seal } = await openBooks(database, KEY_WRAP)
  const store = new SqliteLedger(database, seal, new JournalFileBytes(first.dataDir, OLD_HALF), 256)
  store.open()
  const bench = Object.assign(new Bench({ ...first.store, ledger: store }, first.clock), {})
  const ids = await charged(bench, customer, 261)
  const dataDir = killed(first.dataDir)
  const { bytes, mark } = recordsOf(dataDir)
  assert.equal(bytes.length, 2 * OLD_HALF)
  assert.ok(recordAt(bytes, OLD_HALF, null, mark) !== null, 'records are in the second half')
  assert.equal(rowsIn(dataDir), 1, 'nobody else sees a part')
  await database.transaction((sql) => sql.run('UPDATE account SET name = name'), { purpose: 'note' })
  const [seen] = await database.all('SELECT COUNT(*) AS rows FROM generation')
  assert.equal(seen?.['rows'], 261n, 'a reader sees them all')
  await database.close()
  const again = await opened(dataDir)
  await again.auditClean()
  assert.deepEqual(await again.money(customer.accountId), { available: BALANCE - 261n * COST, held: 0n })
  for (const id of ids.slice(-6)) assert.equal((await again.settle(customer, id, COST)).status, 'replayed')
  await charged(again, customer, 2)
  assert.equal(readFileSync(rowJournalPath(dataDir)).length, 2 * ROW_HALF_BYTES)
  await again.auditClean()
  await again.store.close()
})

test('an end that is asked for again while its rows are in the journal charges nothing more, a late one too', async () => {
  const { bench, customer, ids } = await withJournaled()
  for (const id of ids) assert.equal((await bench.settle(customer, id, COST)).status, 'replayed')
  const late = newId('gen-')
  await bench.hold(customer, 10n, late)
  bench.clock.advance(61_000)
  // Another process's lease, as the sweep sees it.
  const sweeper = new Ledger({ ...sweeping(bench) })
  await sweeper.sweep()
  await bench.store.ledger.checkpoint?.()
  assert.equal((await bench.settle(customer, late, COST)).status, 'settled_late')
  await charged(bench, customer, 1)
  assert.equal((await bench.settle(customer, late, COST)).status, 'replayed')
  await bench.auditClean()
  await bench.store.close()
})

function sweeping(bench: Bench): ConstructorParameters<typeof Ledger>[0] {
  return { store: bench.store.ledger, clock: bench.clock, node: 'sweeper', timezone: () => 'UTC', singleProcess: true }
}

test('a limit counts what is in the journal alone, also when the kept rows were dropped', async () => {
  const bench = await opened()
  const customer = await bench.customer(BALANCE, { limitMicro: 25n })
  await charged(bench, customer, 2)
  await bench.topUp(customer.accountId, 1n)
  await charged(bench, customer, 1)
  assert.equal((await bench.hold(customer, 10n)).status, 'limit_exceeded')
  assert.equal((await bench.spend(customer)).total, 21n)
  await bench.store.close()
})

test('a spoilt journal: the store opens with what stands before, says so, and its books are whole', async () => {
  const { bench, customer } = await withJournaled()
  const dataDir = killed(bench.dataDir)
  const { bytes, places } = recordsOf(dataDir)
  assert.ok(places.length >= 3)
  const spoilt = (places.at(-2) ?? 0) + 40
  bytes.writeUInt8(bytes.readUInt8(spoilt) ^ 4, spoilt)
  writeFileSync(rowJournalPath(dataDir), bytes)
  const again = await opened(dataDir)
  assert.match(again.store.ledger.openingNotice ?? '', /1 records behind one that is missing/)
  await again.auditClean()
  assert.equal((await again.money(customer.accountId)).available, BALANCE - 3n * COST)
  await again.store.close()
  await bench.store.close()
})

test('a journal of nothing, of half a length, of zeros or of noise is no reason not to start', async () => {
  const { bench } = await withJournaled()
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(5_000, 'TGJ1'), Buffer.alloc(ROW_HALF_BYTES), null]) {
    const dataDir = killed(bench.dataDir)
    if (bytes === null) rmSync(rowJournalPath(dataDir))
    else writeFileSync(rowJournalPath(dataDir), bytes)
    const again = await opened(dataDir)
    await again.auditClean()
    await charged(again, await again.customer(BALANCE), 2)
    await again.auditClean()
    await again.store.close()
  }
  await bench.store.close()
})

test('whoever changes rows in the journal, with a checksum that fits, changes sealed rows: the audit tells', async () => {
  const { bench, ids } = await withJournaled()
  const last = ids.at(-1) ?? ''
  const forgeries: readonly (readonly [string, (text: string) => string])[] = [
    ['a charge', (text) => text.replaceAll(`,${COST},`, ',1,')],
    ['the end of a chain', (text) => text.replaceAll(/"[0-9a-f]{64}"/g, `"${'0'.repeat(64)}"`)],
    ['the owner of a log row', (text) => text.replaceAll('"openai/gpt-4o"', '"openai/gpt-4p"')],
  ]
  for (const [name, forge] of forgeries) {
    const dataDir = killed(bench.dataDir)
    const { bytes, mark, places } = recordsOf(dataDir)
    const at = places.at(-1) ?? 0
    const found = recordAt(bytes, at, null, mark) ?? assert.fail()
    assert.ok(found.payload.toString().includes(last))
    const forged = Buffer.from(forge(found.payload.toString()))
    assert.notEqual(forged.toString(), found.payload.toString(), name)
    record(forged, found.epoch, mark).copy(bytes, at)
    writeFileSync(rowJournalPath(dataDir), bytes)
    const again = await opened(dataDir)
    await assert.rejects(again.auditClean(), name)
    await again.store.close()
  }
  await bench.store.close()
})

test('a backup beside a running server has what is in the journal alone; its copy takes no other journal for its own', async () => {
  const { bench, customer, ids } = await withJournaled()
  const copy = join(newDirectory(), 'copy')
  await backupStore(bench.dataDir, copy)
  await charged(bench, customer, 2)
  copyFileSync(rowJournalPath(bench.dataDir), rowJournalPath(copy))
  const restored = await opened(copy)
  await restored.auditClean()
  assert.equal((await restored.money(customer.accountId)).available, BALANCE - BigInt(ids.length) * COST)
  await restored.store.close()
  await bench.store.close()
})

test('the journal has room for a batch of any size, or the batch goes straight to its tables', async () => {
  const bench = await opened()
  const customers = await Promise.all(Array.from({ length: 4 }, () => bench.customer(BALANCE)))
  const ids = Array.from({ length: 1_400 }, () => newId('gen-'))
  const of = (index: number): Customer => customers[index % customers.length] ?? assert.fail()
  await Promise.all(ids.map((id, index) => bench.hold(of(index), 10n, id)))
  await Promise.all(ids.map((id, index) => bench.settle(of(index), id, COST)))
  const again = await opened(killed(bench.dataDir))
  await again.auditClean()
  for (const { accountId } of customers)
    assert.equal((await again.money(accountId)).available, BALANCE - (BigInt(ids.length) / 4n) * COST)
  await again.store.close()
  await bench.store.close()
})

/** The database's log, with how much of it the disk has for sure. */
class WatchedDatabase extends SqliteDatabase {
  readonly walPath: string
  durableBytes = 0

  constructor(directory: string) {
    super(directory)
    this.walPath = join(directory, 'tollgate.db-wal')
  }

  override async sync(): Promise<void> {
    const { length } = existsSync(this.walPath) ? readFileSync(this.walPath) : Buffer.alloc(0)
    await super.sync()
    this.durableBytes = Math.max(this.durableBytes, length)
  }
}

class WatchedBytes extends JournalFileBytes {
  durable: Buffer = Buffer.alloc(0)

  override allocate(): void {
    super.allocate()
    if (this.durable.length === 0) this.durable = this.read()
  }

  override async sync(): Promise<void> {
    const bytes = this.read()
    await super.sync()
    this.durable = bytes
  }
}

/** What lies on the disk when the power goes now: of what was not synced any part. */
function withoutPower(dataDir: string, database: WatchedDatabase, rows: WatchedBytes, random: Random): string {
  const directory = killed(dataDir)
  const wal = readFileSync(database.walPath)
  const kept = database.durableBytes + random.below(wal.length - database.durableBytes + 1)
  writeFileSync(
    join(directory, 'tollgate.db-wal'),
    random.chance(0.5) ? wal.subarray(0, kept) : wal.subarray(0, database.durableBytes),
  )
  if (rows.durable.length === 0) return directory
  const bytes = rows.read()
  const all = random.chance(0.3)
  for (let at = 0; at < bytes.length; at += 512) {
    const before = rows.durable.subarray(at, at + 512)
    if (!before.equals(bytes.subarray(at, at + 512)) && !all && random.chance(0.5)) before.copy(bytes, at)
  }
  writeFileSync(rowJournalPath(directory), bytes)
  return directory
}

test('the power goes at any moment: what was answered is there, once, and the books are whole', async (context) => {
  let journaled = 0
  for (let seed = 1; seed <= CUTS; seed += 1) {
    const random = new Random(seed)
    const first = await opened()
    const customers = [await first.customer(BALANCE), await first.customer(BALANCE, { limitMicro: 900_000n })]
    await first.store.close()
    const database = new WatchedDatabase(first.dataDir)
    const { seal } = await openBooks(database, KEY_WRAP)
    const rows = new WatchedBytes(first.dataDir)
    const store = new SqliteLedger(database, seal, rows)
    store.open()
    const clock = new TestClock(NOON_MS)
    const entries = new EntryStore(database, seal)
    const bench = Object.assign(new Bench({ ...first.store, kind: 'embedded', ledger: store, entries }, clock), {})
    const answered = new Map<string, Customer>()
    const topUps = new Map(customers.map(({ accountId }) => [accountId, BALANCE]))
    const open: (readonly [string, Customer])[] = []
    const step = async (): Promise<void> => {
      const customer = random.pick(customers)
      const settled = async (): Promise<void> => {
        const [id, owner] = open.splice(random.below(open.length), 1)[0] ?? []
        if (id === undefined || owner === undefined) return
        const outcome = random.chance(0.8) ? await bench.settle(owner, id, COST) : await bench.void(owner, id)
        if (outcome.status === 'settled') answered.set(id, owner)
      }
      const kind = random.below(10)
      if (kind === 0) {
        await bench.topUp(customer.accountId, 5n)
        topUps.set(customer.accountId, (topUps.get(customer.accountId) ?? 0n) + 5n)
      } else if (kind === 1) await store.flush()
      else if (kind === 2) await store.checkpoint()
      else if (kind === 3) await store.openHolds(null)
      else if (kind <= 6) {
        const id = newId('gen-')
        if ((await bench.hold(customer, 10n, id)).status === 'held') open.push([id, customer])
      } else await Promise.all([settled(), settled()])
    }
    for (let count = 0; count < STEPS; count += 1) await step()
    // It goes in the middle of the last one.
    const last = step()
    for (let turns = random.below(6); turns > 0; turns -= 1) await Promise.resolve()
    const [seen, paid] = [new Map(answered), new Map(topUps)]
    const directory = withoutPower(first.dataDir, database, rows, random)
    await last
    await database.close()
    const again = await opened(directory)
    await again.auditClean()
    journaled += seen.size
    for (const [id, owner] of seen)
      assert.equal((await again.settle(owner, id, COST)).status, 'replayed', `seed ${seed}: ${id}`)
    await again.ledger.start()
    await again.ledger.stop()
    await again.auditClean()
    for (const { accountId } of customers) {
      const { available, held } = await again.money(accountId)
      const charges = [...seen.values()].filter((owner) => owner.accountId === accountId).length
      const most = (paid.get(accountId) ?? 0n) - BigInt(charges) * COST
      assert.equal(held, 0n)
      assert.ok(available <= most + 5n && available >= most - 2n * COST, `seed ${seed}: ${available} of ${most}`)
    }
    await again.store.close()
    rmSync(directory, { recursive: true })
    rmSync(first.dataDir, { recursive: true })
  }
  context.diagnostic(`${CUTS} cuts, ${journaled} charges that were answered before`)
})
