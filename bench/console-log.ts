import { rmSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { openBrowser, visitor, type Visitor } from '../test/harness/browser.ts'
import { buildConsole, enter } from '../test/harness/console-world.ts'
import {
  clearFilters,
  customerSteps,
  NEXT_PAGE,
  operatorSteps,
  paintedRows,
  timePageDown,
  timeStep,
  watchLog,
} from '../test/harness/log-watch.ts'
import { startLogWorld } from '../test/harness/log-world.ts'

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '10000000' }, turns: { type: 'string', default: '20' } },
})
const rows = Number(values.rows)
const turns = Number(values.turns)
if (!Number.isInteger(rows) || rows < 100_000 || !Number.isInteger(turns) || turns < 1) {
  process.stderr.write('usage: node bench/console-log.ts [--rows N] [--turns N]\n')
  process.exit(2)
}
const WARM_UP = 2
const PAGES_DOWN = 200

const took = new Map<string, number[]>()
function note(name: string, ms: number): void {
  const known = took.get(name)
  if (known === undefined) took.set(name, [ms])
  else known.push(ms)
}

async function walk(guest: Visitor, page: 'customer' | 'operator', steps: typeof customerSteps): Promise<void> {
  await watchLog(guest.page)
  await guest.page.locator('main [role=rowgroup] [role=cell]').first().waitFor()
  const newest = await paintedRows(guest.page)
  for (let turn = -WARM_UP; turn < turns; turn += 1) {
    for (const step of steps(world.log, Math.abs(turn))) {
      const ms = await timeStep(guest.page, step)
      const clearMs = await clearFilters(guest.page, newest)
      if (turn < 0) continue
      note(`${page}: filter by ${step.name}`, ms)
      note(`${page}: filters away`, clearMs)
    }
  }
}

buildConsole()
const world = await startLogWorld(rows, (to) => process.stderr.write(`${to} rows\n`))
const browser = await openBrowser()
try {
  const customer = await visitor(browser, world.tollgate.url)
  await enter(customer.context, world.tollgate, world.customer)
  await customer.page.goto(`${world.tollgate.url}/log`)
  await walk(customer, 'customer', customerSteps)
  for (let page = 0; page < PAGES_DOWN; page += 1)
    note('customer: scroll by a screen', await timePageDown(customer.page))
  const operator = await visitor(browser, world.tollgate.url)
  await enter(operator.context, world.tollgate, world.operator)
  await operator.page.goto(`${world.tollgate.url}/operator/requests`)
  await walk(operator, 'operator', operatorSteps)
  for (let page = 0; page < turns; page += 1) note('operator: next page', await timeStep(operator.page, NEXT_PAGE))
  const troubles = [...customer.troubles, ...operator.troubles]
  if (troubles.length > 0) throw new Error(troubles.join('\n'))
} finally {
  await browser.close()
  await world.tollgate.stop()
  rmSync(world.tollgate.dataDir, { recursive: true, force: true })
}
const lines = [...took].map(([name, ms]) => {
  const sorted = ms.toSorted((left, right) => left - right)
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0)
  return `| ${name} | ${ms.length} | ${at(0.5)} | ${at(0.99)} |`
})
process.stdout.write(
  `${rows} rows; ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown CPU'}, Chromium on the same machine; ms from the click or key to the painted rows\n\n| Page and action | Times | p50 ms | p99 ms |\n|---|---|---|---|\n${lines.join('\n')}\n`,
)
