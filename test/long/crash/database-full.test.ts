import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  answersSeen,
  checkMoney,
  type Observed,
  ask,
  clients,
  settled,
  untilExpired,
  untilServed,
  withWorld,
} from '../../crash/crash-clients.ts'
import { form } from '../../harness/form.ts'
import { patient } from '../../harness/patience.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { mountSmallDisk } from '../../crash/small-disk.ts'

const ROUNDS = form({ short: 1, long: 1, chaos: 10 })
const DISK_MB = 160
const REFUSALS = 5
/** More than the number of clients, so that later requests than the running ones were answered. */
const ANSWERS = 20

test('F5: the disk of the database is full: paid requests get 503, running answers end, nothing crashes, and it goes on by itself when there is room', async (context) => {
  const disk = mountSmallDisk(DISK_MB)
  if (disk === null) return
  const postgres = await startPostgres(disk.path)
  try {
    await withWorld(postgres, async (world) => {
      const record: Observed = { whole: [], broken: new Set() }
      for (let round = 0; round < ROUNDS; round += 1) {
        await clients(world, record, async () => {
          await answersSeen(record, ANSWERS)
          const stream = ask(world, 'words=40 gap_ms=100', { stream: true })
          await answersSeen(record, ANSWERS)
          disk.fill()
          for (let refused = 0, tries = 0; refused < REFUSALS; tries += 1) {
            assert.ok(tries < 20_000, 'the database needs room')
            const startedMs = performance.now()
            const { status, body, headers, text } = await ask(world, 'words=3')
            if (status === 200) continue
            assert.equal(status, 503, text)
            assert.equal(body.error.metadata.error_type, 'service_unavailable')
            assert.ok(Number(headers['retry-after']) >= 1)
            assert.ok(performance.now() - startedMs < patient(2_500))
            refused += 1
          }
          assert.match((await stream).text, /"cost":[\d.e-]+[\s\S]*data: \[DONE\]/, 'a stream in progress finishes')
          disk.free()
          const servedMs = await untilServed(world)
          context.diagnostic(`served again ${Math.round(servedMs)} ms after there was room`)
        })
      }
      assert.equal(world.tollgate.exitCode, null)
      await settled(world, 5_000).catch(() => untilExpired(world))
      await checkMoney(world.tollgate, world.account, record)
    })
  } finally {
    await postgres?.stop()
    disk.stop()
  }
})
