import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { answersSeen, checkMoney, crashAccount, crashClient, type Observed } from './crash-clients.ts'
import { percentile, spread } from '../harness/figures.ts'
import { form, isLong } from '../harness/form.ts'
import { patient } from '../harness/patience.ts'
import { startTollgate } from '../harness/server.ts'
import { freshFolder } from '../harness/lasting.ts'

/** Until one kill has met a stream. */
const MORE = 10
const ROUNDS = form({ short: 2, long: 6, chaos: 60 })
/** R5; where other tests take the machine, an empty start of the same minute is the measure. */
const READY_MS = 3_000
const CLIENTS = 12
const COMMAND = join(import.meta.dirname, '../../bin/tollgate.js')

test('F1, R2, R5: kill -9 under load: what clients saw to the end is charged once at that price, what broke is free, and the audit is clean', async (context) => {
  const dataDir = freshFolder()
  const firstMs = performance.now()
  let tollgate = await startTollgate({ dataDir })
  const emptyMs = performance.now() - firstMs
  try {
    const account = await crashAccount(tollgate)
    const record: Observed = { whole: [], broken: new Set() }
    const ready: number[] = []
    for (let round = 0; round < ROUNDS || (record.broken.size === 0 && round < ROUNDS + MORE); round += 1) {
      const stopped = { now: false }
      const running = tollgate
      const clients = Array.from({ length: CLIENTS }, (_value, number) =>
        crashClient(() => running, account.key, number, record, stopped),
      )
      await answersSeen(record, 2 * CLIENTS)
      await tollgate.kill('SIGKILL')
      stopped.now = true
      await Promise.all(clients)
      const startedMs = performance.now()
      tollgate = await startTollgate({ dataDir })
      ready.push(performance.now() - startedMs)
    }
    context.diagnostic(
      `${record.whole.length} answers seen whole, ${record.broken.size} cut; ready again: ${spread(ready)}`,
    )
    assert.ok(percentile(ready, 0.5) < Math.max(patient(READY_MS), 3 * emptyMs), spread(ready))
    assert.ok(record.whole.length > ROUNDS * CLIENTS, `only ${record.whole.length} answers were completed`)
    assert.ok(record.broken.size > 0, 'no stream was cut: the load did not reach the crash')
    await checkMoney(tollgate, account, record)
    if (!isLong) return
    await tollgate.stop()
    const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, 'audit', '--json'], {
      cwd: dataDir,
      env: { PATH: process.env['PATH'], TOLLGATE_DATA: dataDir },
    })
    assert.equal(JSON.parse(stdout).violations, 0, stdout)
  } finally {
    await tollgate.stop()
  }
})
