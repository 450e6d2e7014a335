import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Route } from 'playwright-core'
import { browserSkip, openBrowser, visitor, type Visitor } from '../harness/browser.ts'
import { buildConsole, chat, enter, makeKey, promote, signUp, texts, type Customer } from '../harness/console-world.ts'
import { isLong } from '../harness/form.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'

const skip = browserSkip()
const DATA = /\/(?:cabinet|admin)\/v1\/(?!session$)/
const CUSTOMER = [
  '/',
  '/keys',
  '/usage',
  '/log',
  '/apps',
  '/models',
  '/model/sandbox/chat',
  '/playground',
  '/top-up',
  '/ledger',
  '/statement',
  '/security',
]
const OPERATOR = [
  'accounts',
  'users',
  'codes',
  'payments',
  'providers',
  'prices',
  'catalog',
  'health',
  'margin',
  'requests',
  'audit',
  'events',
  'settings',
  'ip-blocks',
].map((name) => `/operator/${name}`)
/** On its way, not coming, empty: one test each. */
const STATES = 3
const REFUSAL = { error: { code: 409, message: 'Not just now', metadata: { error_type: 'conflict' } } }

let tollgate: Tollgate
let browser: Browser
let customer: Customer
let operator: Customer

before(async () => {
  if (skip !== false) return
  buildConsole()
  tollgate = await startTollgate({ env: { TOLLGATE_LOG_LEVEL: 'error' } })
  browser = await openBrowser()
  customer = await signUp(tollgate, 'ann@example.com')
  const { key } = await makeKey(tollgate, customer, { name: 'backend' })
  await chat(tollgate, key, 'Hello')
  operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))
})

after(async () => {
  if (skip !== false) return
  await browser.close()
  await tollgate.stop()
})

/** Walks over every page of both, each with its data answered by `route`. */
async function overPages(
  route: (route: Route) => Promise<void>,
  look: (guest: Visitor, path: string) => Promise<readonly string[]>,
  turn: number,
): Promise<readonly string[]> {
  const problems: string[] = []
  for (const [who, paths] of [
    [customer, CUSTOMER],
    [
      operator,
      [...OPERATOR, `/operator/accounts/${customer.accountId}`, `/operator/accounts/${customer.accountId}/statement`],
    ],
  ] as const) {
    const guest: Visitor = await visitor(browser, tollgate.url, { language: 'ru' })
    await enter(guest.context, tollgate, who)
    // Each change sees each page in one of the states, and each state.
    for (const path of paths.filter((_, index) => isLong !== (index % STATES === turn))) {
      await guest.page.route(DATA, route)
      await guest.page.goto(`${tollgate.url}${path}`)
      problems.push(...(await look(guest, path)), ...guest.troubles.splice(0).map((trouble) => `${path}: ${trouble}`))
      await guest.page.unrouteAll({ behavior: 'ignoreErrors' })
    }
    await guest.close()
  }
  return problems
}

test('data that is on its way is an outline that says so', { skip }, async () => {
  const problems = await overPages(
    () => new Promise(() => undefined),
    async ({ page }, path) => {
      const outline = page.getByRole('status', { name: texts('ru')('common.loading') }).first()
      return outline.waitFor().then(
        () => [],
        () => [`${path}: no outline`],
      )
    },
    0,
  )
  assert.deepEqual(problems, [])
})

test('data that does not come is a sentence and a way to try again, which works', { skip }, async () => {
  const problems = await overPages(
    (route) => route.fulfill({ status: 409, json: REFUSAL }),
    async ({ page }, path) => {
      const retry = page.getByRole('alert').getByRole('button', { name: texts('ru')('common.retry') })
      const told = await retry
        .first()
        .waitFor()
        .then(
          () => true,
          () => false,
        )
      if (!told) return [`${path}: says nothing`]
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      while ((await retry.count()) > 0) {
        const button = await retry.first().elementHandle()
        await button?.click()
        // What was read by it may bring the next thing that had failed.
        if (
          !(await button?.waitForElementState('hidden').then(
            () => true,
            () => false,
          ))
        )
          return [`${path}: tried again, and failed`]
      }
      return []
    },
    1,
  )
  assert.deepEqual(problems, [])
})

test('a list without rows says what it would hold', { skip }, async () => {
  const problems = await overPages(
    async (route) => {
      const answer = await route.fetch()
      // What the console itself reads.
      const body = (await answer.json()) as Record<string, unknown>
      await route.fulfill({
        response: answer,
        json: { ...body, ...(Array.isArray(body['data']) ? { data: [], total: 0 } : {}) },
      })
    },
    async ({ page, settled }, path) => {
      await settled()
      const bare = await page.evaluate<number>(
        "[...document.querySelectorAll('main [role=table]')].filter((table) => table.querySelector('[role=cell]') === null).length",
      )
      const failed = await page
        .getByRole('alert')
        .filter({ hasText: texts('ru')('failure.title') })
        .count()
      return bare + failed > 0 ? [`${path}: ${bare} tables without a row, ${failed} failures`] : []
    },
    2,
  )
  assert.deepEqual(problems, [])
})
