import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { chat } from '../harness/chat-fold.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'

const ROUNDS = 6
const CLIENTS = 12
const LOAD_MS = 600

interface Seen {
  readonly id: string
  readonly cost: number
}

/** Asks until the server dies; keeps every answer whose end arrived. */
async function client(tollgate: Tollgate, key: string, number: number, seen: Seen[], stopped: { now: boolean }): Promise<void> {
  for (let turn = 0; !stopped.now; turn += 1) {
    const stream = (turn + number) % 2 === 0
    const content = `client ${number}\nsandbox: words=${5 + (turn % 20)} gap_ms=${stream ? 1 : 0}`
    try {
      const answer = await chat(tollgate.url, key, { model: 'sandbox/chat', stream, max_tokens: 100, messages: [{ role: 'user', content }] })
      if (answer.status === 200 && answer.done && answer.error === null) seen.push({ id: String(answer.events[0]?.['id']), cost: Number(answer.usage?.['cost']) })
    } catch {
      // The connection died with the server: this answer has no end.
      if (!stopped.now) await delay(1)
    }
  }
}

test('kill -9 under load: what clients saw to the end is charged once at that price, nothing else is, and the audit is clean', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-crash-'))
  let tollgate = await startTollgate({ dataDir })
  const account = await tollgate.createAccount({ balance: 1_000, account: { rate_limit: { requests: 100_000, window: 60 } } })
  const seen: Seen[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const stopped = { now: false }
    const clients = Array.from({ length: CLIENTS }, (_value, number) => client(tollgate, account.key, number, seen, stopped))
    await delay(LOAD_MS)
    await tollgate.kill('SIGKILL')
    stopped.now = true
    await Promise.all(clients)
    tollgate = await startTollgate({ dataDir })
  }
  try {
    assert.ok(seen.length > ROUNDS * CLIENTS, `only ${seen.length} answers were completed`)
    const audit = await tollgate.admin('GET', '/admin/v1/audit')
    assert.equal(audit.body.violations, 0, audit.text)
    const charged = await chargedAnswers(tollgate, account.id)
    for (const { id, cost } of seen) assert.equal(charged.get(id), cost, `answer ${id}`)
    assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length, 'no id is given twice')
    const record = await tollgate.admin('GET', `/admin/v1/accounts/${account.id}`)
    const sum = [...charged.values()].reduce((total, cost) => total + Math.round(cost * 1e6), 0)
    assert.equal(Math.round(record.body.balance * 1e6), 1_000_000_000 - sum)
    assert.equal(record.body.reserved, 0, 'no hold is left')
  } finally {
    await tollgate.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
})

async function chargedAnswers(tollgate: Tollgate, account: string): Promise<Map<string, number>> {
  const charged = new Map<string, number>()
  for (let offset = 0; ; offset += 1_000) {
    const page = await tollgate.admin('GET', `/admin/v1/generations?account=${account}&limit=1000&offset=${offset}`)
    for (const row of page.body.data) if (row.total_cost > 0) charged.set(row.generation_id, row.total_cost)
    if (page.body.data.length < 1_000) return charged
  }
}
