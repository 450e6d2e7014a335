import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { seriousFindings } from '../harness/axe.ts'
import { browserSkip, openBrowser, visitor, type VisitorOptions } from '../harness/browser.ts'
import { buildConsole, chat, enter, makeKey, promote, signUp, type Customer } from '../harness/console-world.ts'
import { isLong } from '../harness/form.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'

const skip = browserSkip()
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
  '/settings',
  '/security',
  '/no/such/page',
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
const LOOKS: readonly VisitorOptions[] = [
  { language: 'en' },
  { language: 'ru', dark: true },
  { language: 'ru', width: 320, height: 700 },
]

let tollgate: Tollgate
let browser: Browser
let customer: Customer
let operator: Customer
let generation = ''

before(async () => {
  if (skip !== false) return
  buildConsole()
  tollgate = await startTollgate({ env: { TOLLGATE_LOG_LEVEL: 'error' } })
  browser = await openBrowser()
  customer = await signUp(tollgate, 'ann@example.com')
  const { key } = await makeKey(tollgate, customer, { name: 'backend', limit: 50 })
  generation =
    (await chat(tollgate, key, 'Hello', { 'http-referer': 'https://notes.example', 'x-title': 'Notes' })).headers[
      'x-generation-id'
    ] ?? ''
  await chat(tollgate, key, 'sandbox: status=500')
  operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))
})

after(async () => {
  if (skip !== false) return
  await browser.close()
  await tollgate.stop()
})

for (const [turn, look] of LOOKS.entries()) {
  const name = `${look.language}, ${look.dark === true ? 'dark' : 'light'}, ${look.width ?? 1280} px`
  test(`every page stands without violation, error or serious finding: ${name}`, { skip }, async () => {
    const problems: string[] = []
    for (const who of ['stranger', 'customer', 'operator'] as const) {
      const guest = await visitor(browser, tollgate.url, look)
      if (who !== 'stranger') await enter(guest.context, tollgate, who === 'customer' ? customer : operator)
      const paths =
        who === 'stranger'
          ? ['/sign-in', '/sign-up', '/setup?token=wrong']
          : who === 'customer'
            ? [...CUSTOMER, `/log/${generation}`]
            : [
                ...OPERATOR,
                `/operator/accounts/${customer.accountId}`,
                `/operator/accounts/${customer.accountId}/statement`,
              ]
      // Each change sees each page in one of the looks, and each look.
      for (const path of paths.filter((_, index) => isLong !== (index % LOOKS.length === turn))) {
        await guest.page.goto(`${tollgate.url}${path}`)
        await guest.settled()
        const wide = await guest.page.evaluate<number>(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        problems.push(
          ...(await seriousFindings(guest.page)).map((finding) => `${path}: ${finding}`),
          ...guest.troubles.splice(0).map((trouble) => `${path}: ${trouble}`),
          ...(wide > 0 ? [`${path}: ${wide} px wider than the window`] : []),
        )
      }
      await guest.close()
    }
    assert.deepEqual(problems, [])
  })
}
