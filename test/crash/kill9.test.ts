import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { request } from 'undici'
import { foldStream } from '../harness/chat-fold.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'

const ROUNDS = 6
const CLIENTS = 12
const LOAD_MS = 600
const BALANCE_MICRO = 1_000_000_000
const COMMAND = join(import.meta.dirname, '../../bin/tollgate.js')

interface Seen {
  readonly id: string
  readonly cost: number
}

/** What the clients of all rounds know: answers whose end arrived, and streams that broke with words still to come. */
interface Observed {
  readonly whole: Seen[]
  readonly broken: Set<string>
}

/** Asks until the server dies; records how each answer ended. */
async function client(tollgate: Tollgate, key: string, number: number, record: Observed, stopped: { now: boolean }): Promise<void> {
  for (let turn = 0; !stopped.now; turn += 1) {
    const stream = (turn + number) % 2 === 0
    const words = 5 + (turn % 20)
    const content = `client ${number}\nsandbox: words=${words} gap_ms=${stream ? 1 : 0}`
    const body = JSON.stringify({ model: 'sandbox/chat', stream, max_tokens: 100, messages: [{ role: 'user', content }] })
    // The connection dies with the server: what had come back by then is looked at all the same.
    const answer = await ask(tollgate, key, body).catch(() => null)
    if (answer === null || answer.status !== 200) await delay(1)
    else if (stream) recordStream(record, answer, words)
    else if (answer.ended) recordPlain(record, answer.text)
  }
}

interface RawAnswer {
  readonly status: number
  readonly id: string
  readonly text: string
  /** The body came to its end as its framing says. */
  readonly ended: boolean
}

async function ask(tollgate: Tollgate, key: string, body: string): Promise<RawAnswer> {
  const answer = await request(`${tollgate.url}/v1/chat/completions`, { method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, body })
  let text = ''
  let ended = true
  try {
    for await (const chunk of answer.body) text += String(chunk)
  } catch {
    ended = false
  }
  return { status: answer.statusCode, id: String(answer.headers['x-generation-id']), text, ended }
}

function recordStream(record: Observed, answer: RawAnswer, words: number): void {
  // The last event may be cut in the middle.
  const { done, error, usage, choices } = foldStream(answer.status, answer.text.slice(0, answer.text.lastIndexOf('\n\n') + 2), {})
  assert.ok(!answer.ended || done, 'a stream that its server never finished does not end as if it were whole')
  const received = (choices.get(0)?.text ?? '').split(' ').filter((word) => word !== '').length
  if (done && error === null) record.whole.push({ id: answer.id, cost: Number(usage?.['cost']) })
  // The settle begins after the last word has left, so its word and the end may be lost after it.
  else if (received < words - 1) record.broken.add(answer.id)
}

function recordPlain(record: Observed, text: string): void {
  const { id, usage } = JSON.parse(text)
  record.whole.push({ id, cost: usage.cost })
}

test('kill -9 under load: what clients saw to the end is charged once at that price, what broke is free, and the audit is clean', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-crash-'))
  let tollgate = await startTollgate({ dataDir })
  try {
    const account = await tollgate.createAccount({ balance: BALANCE_MICRO / 1e6, account: { rate_limit: { requests: 100_000, window: 60 } }, key: { limit: 900, limit_reset: 'monthly' } })
    const record: Observed = { whole: [], broken: new Set() }
    for (let round = 0; round < ROUNDS; round += 1) {
      const stopped = { now: false }
      const clients = Array.from({ length: CLIENTS }, (_value, number) => client(tollgate, account.key, number, record, stopped))
      await delay(LOAD_MS)
      await tollgate.kill('SIGKILL')
      stopped.now = true
      await Promise.all(clients)
      tollgate = await startTollgate({ dataDir })
    }
    assert.ok(record.whole.length > ROUNDS * CLIENTS, `only ${record.whole.length} answers were completed`)
    assert.ok(record.broken.size > 0, 'no stream was cut: the load did not reach the crash')
    await checkMoney(tollgate, account, record)
    await tollgate.stop()
    const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, 'audit', '--json'], { cwd: dataDir, env: { PATH: process.env['PATH'], TOLLGATE_DATA: dataDir } })
    assert.equal(JSON.parse(stdout).violations, 0, stdout)
  } finally {
    await tollgate.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
})

async function checkMoney(tollgate: Tollgate, account: { readonly id: string; readonly keyId: string }, { whole, broken }: Observed): Promise<void> {
  const audit = await tollgate.admin('GET', '/admin/v1/audit')
  assert.equal(audit.body.violations, 0, audit.text)
  const rows = await generations(tollgate, account.id)
  const charged = new Map(rows.filter((row) => row.total_cost > 0).map((row) => [row.generation_id, row]))
  assert.equal(new Set(whole.map(({ id }) => id)).size, whole.length, 'no id is given twice')
  for (const { id, cost } of whole) assert.equal(charged.get(id)?.total_cost, cost, `answer ${id}`)
  for (const id of broken) assert.equal(charged.get(id), undefined, `the broken stream ${id} was charged`)
  assert.deepEqual([...charged.values()].filter(({ status }) => status !== 'completed'), [], 'only complete answers are charged')
  const sumMicro = [...charged.values()].reduce((total, row) => total + Math.round(row.total_cost * 1e6), 0)
  const { body: record } = await tollgate.admin('GET', `/admin/v1/accounts/${account.id}`)
  assert.equal(Math.round(record.balance * 1e6), BALANCE_MICRO - sumMicro)
  assert.equal(record.reserved, 0, 'no hold is left')
  const { body: keys } = await tollgate.admin('GET', `/admin/v1/accounts/${account.id}/keys`)
  assert.equal(Math.round(keys.data[0].usage_monthly * 1e6), sumMicro, 'the key has spent what was charged')
}

interface LogRow {
  readonly generation_id: string
  readonly total_cost: number
  readonly status: string
}

async function generations(tollgate: Tollgate, account: string): Promise<LogRow[]> {
  const rows: LogRow[] = []
  for (;;) {
    const page = await tollgate.admin('GET', `/admin/v1/generations?account=${account}&limit=1000&offset=${rows.length}`)
    rows.push(...page.body.data)
    if (page.body.data.length < 1_000) return rows
  }
}
