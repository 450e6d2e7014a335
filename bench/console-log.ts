import { rmSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { PAGE_DEPTH_MAX } from '../src/base/query-parameters.ts'
import { openBrowser, visitor, type Visitor } from '../test/harness/browser.ts'
import { buildConsole, enter, texts } from '../test/harness/console-world.ts'
import {
  clearFilters,
  customerSteps,
  NEXT_PAGE,
  operatorSteps,
  paintedRows,
  timePageDown,
  timeStep,
  watchLog,
  startLogWorld,
} from '../test/console/log-watch.ts'

/** The p99 may take at most this long, ms. */
const BOUND_MS = 100
const USAGE = `usage: npm run bench:console-log -- [--rows N] [--entries N] [--accounts N] [--turns N]

Fills an embedded store, opens the lists of the console in Chromium, and prints for each action the times from the
click or key to the painted rows. Exit code 1: the p99 of one is above ${BOUND_MS} ms.

  --rows      rows of the usage log, 100,000 at least (10000000, which takes a quarter of an hour and some GB of disk)
  --entries   entries of the ledger that is read at its deep end (2000000)
  --accounts  accounts of the operator's list (10000)
  --turns     times of each action (20)

Run it on a machine that does nothing else: Chromium and the server share its cores.
`
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000000' },
    entries: { type: 'string', default: '2000000' },
    accounts: { type: 'string', default: '10000' },
    turns: { type: 'string', default: '20' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}
const rows = Number(values.rows)
const entries = Number(values.entries)
const accounts = Number(values.accounts)
const turns = Number(values.turns)
if (
  ![rows, entries, accounts, turns].every(Number.isInteger) ||
  !(rows >= 100_000 && entries >= 3_000 && accounts >= 3_000 && turns >= 1)
) {
  process.stderr.write(USAGE)
  process.exit(2)
}
const t = texts('en')
const PLACES = {
  home: 'home',
  'usage of 30 days': 'usage',
  log: 'log',
  'all requests': 'requests',
  accounts: 'accounts',
  margin: 'margin',
} as const
const WARM_UP = 2
const PAGE_ROWS = 50
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

/** The first page, a middle one and the last of a list, each opened by its link. */
async function depths({ page }: Visitor, name: string, path: string, last: number): Promise<void> {
  const walked = (turns + WARM_UP + 1) * PAGE_ROWS
  for (const [place, from] of [
    ['beginning', 0],
    ['middle', (last - walked) / 2],
    ['end', last - walked],
  ] as const) {
    await page.goto(`${world.tollgate.url}${path}?offset=${Math.max(0, Math.floor(from / PAGE_ROWS) * PAGE_ROWS)}`)
    await page.locator('main [role=rowgroup] [role=cell]').first().waitFor()
    await watchLog(page)
    for (let turn = -WARM_UP; turn < turns; turn += 1) {
      const ms = await timeStep(page, NEXT_PAGE)
      if (turn >= 0) note(`operator: ${name}, next page at the ${place}`, ms)
    }
  }
}

/** Pages that are opened by their links, in turn. The first row of each is new, or its heading is. */
async function opens({ page }: Visitor, who: string, names: readonly (keyof typeof PLACES)[]): Promise<void> {
  for (let turn = -1; turn < turns; turn += 1)
    for (const name of names) {
      const place = t(`nav.${PLACES[name]}`)
      const until = `(rows) => document.querySelector('main h1')?.innerText === ${JSON.stringify(place)} && rows.length > 0`
      const act = (on: Page): Promise<void> =>
        on.getByRole('navigation').getByRole('link', { name: place, exact: true }).click()
      const ms = await timeStep(page, { name, act, until })
      if (turn >= 0) note(`${who}: ${name} opened`, ms)
    }
}

/** Accounts by words of their names. */
async function searches({ page }: Visitor): Promise<void> {
  await page.goto(`${world.tollgate.url}/operator/accounts`)
  await page.locator('main [role=rowgroup] [role=cell]').first().waitFor()
  await watchLog(page)
  const field = page.getByRole('searchbox', { name: t('common.search') })
  for (let turn = -WARM_UP; turn < turns; turn += 1) {
    const number = 3_000 - Math.abs(turn)
    const until = `(rows) => rows.length === 1 && rows[0].includes('Client ${number}')`
    const ms = await timeStep(page, { name: 'words', act: () => field.fill(`client ${number}`), until })
    if (turn >= 0) note('operator: accounts by two words', ms)
  }
}

buildConsole()
const world = await startLogWorld(rows, (to) => process.stderr.write(`${to} rows\n`), { entries, accounts })
const browser = await openBrowser()
try {
  const customer = await visitor(browser, world.tollgate.url)
  await enter(customer.context, world.tollgate, world.customer)
  await customer.page.goto(`${world.tollgate.url}/log`)
  await walk(customer, 'customer', customerSteps)
  for (let page = 0; page < PAGES_DOWN; page += 1)
    note('customer: scroll by a screen', await timePageDown(customer.page))
  await opens(customer, 'customer', ['home', 'usage of 30 days', 'log'])
  const operator = await visitor(browser, world.tollgate.url)
  await enter(operator.context, world.tollgate, world.operator)
  await operator.page.goto(`${world.tollgate.url}/operator/requests`)
  await walk(operator, 'operator', operatorSteps)
  for (let page = 0; page < turns; page += 1) note('operator: next page', await timeStep(operator.page, NEXT_PAGE))
  await opens(operator, 'operator', ['home', 'accounts', 'all requests', 'margin'])
  await searches(operator)
  // Further down there are filters.
  await depths(operator, 'accounts', '/operator/accounts', Math.min(accounts, PAGE_DEPTH_MAX))
  await depths(operator, 'ledger', `/operator/accounts/${world.ledger}`, entries)
  const troubles = [...customer.troubles, ...operator.troubles]
  if (troubles.length > 0) throw new Error(troubles.join('\n'))
} finally {
  await browser.close()
  await world.tollgate.stop()
  rmSync(world.tollgate.dataDir, { recursive: true, force: true })
}
let slow = 0
const lines = [...took].map(([name, ms]) => {
  const sorted = ms.toSorted((left, right) => left - right)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  const isSlow = at(0.99) > BOUND_MS
  if (isSlow) slow += 1
  return `| ${name} | ${ms.length} | ${at(0.5).toFixed(0)} | ${at(0.99).toFixed(0)} | ${BOUND_MS}${isSlow ? ': exceeded' : ''} |`
})
process.stdout.write(
  `${rows} rows, ${entries} entries, ${accounts} accounts; ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown CPU'}, Chromium on the same machine; ms from the click or key to the painted rows\n\n| Page and action | Times | p50 ms | p99 ms | Bound ms |\n|---|---|---|---|---|\n${lines.join('\n')}\n`,
)
if (slow > 0) {
  process.stderr.write(`${slow} of ${took.size} actions took longer than ${BOUND_MS} ms at p99\n`)
  process.exitCode = 1
}
