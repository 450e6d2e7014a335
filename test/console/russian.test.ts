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
  '/settings',
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
/** Of the pages, each change sees a part, and each part after some changes; the long form sees all. */
const PARTS = 3
const ru = texts('ru')

/**
 * Two or more words of Latin letters in a row, in texts that are the console's own. What is data is taken out: code and
 * the server's words, which are set off as code, and what stands in fields.
 */
const ENGLISH = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const found = []
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement
    if (parent === null || parent.closest('code, pre, [lang=en], script, style, noscript, textarea, svg, [aria-hidden=true]') !== null) continue
    found.push(node.data)
  }
  for (const part of document.querySelectorAll('[aria-label], [placeholder], [title]')) {
    if (part.closest('code, [lang=en], [aria-hidden=true]') === null) found.push(...['aria-label', 'placeholder', 'title'].map((name) => part.getAttribute(name) ?? ''))
  }
  return found
})()`
/**
 * Names of people, products and models, what the catalogue says of a model, and words of the file, which are the same
 * in every language, and those that this test gives.
 */
const NAMES =
  /Switch to English|Ann Lee|Sandbox: \w+|first top-up|source: cbr|Answers deterministically without any provider\..*|HTTP-Referer|X-Title/g
const RUN = /[A-Za-z][A-Za-z'’]+(?:[,.:;]?\s[–—-]?\s?[A-Za-z][A-Za-z'’]+)+/g

let tollgate: Tollgate
let browser: Browser
let customer: Customer
let operator: Customer
let failed = ''

before(async () => {
  if (skip !== false) return
  buildConsole()
  tollgate = await startTollgate({ env: { TOLLGATE_LOG_LEVEL: 'error' } })
  browser = await openBrowser()
  customer = await signUp(tollgate, 'ann@example.com')
  const { key } = await makeKey(tollgate, customer, { name: 'backend', limit: 50 })
  await chat(tollgate, key, 'Hello', { 'http-referer': 'https://notes.example', 'x-title': 'Notes' })
  failed = (await chat(tollgate, key, 'sandbox: status=500')).headers['x-generation-id'] ?? ''
  await tollgate.request('POST', '/cabinet/v1/sign-in', {
    body: { email: 'ann@example.com', password: 'not this one at all' },
    headers: { origin: tollgate.url },
  })
  await tollgate.admin('PATCH', '/admin/v1/settings', { markup: 1.3 })
  operator = await promote(tollgate, await signUp(tollgate, 'root@example.com', { name: 'Root' }))
})

after(async () => {
  if (skip !== false) return
  await browser.close()
  await tollgate.stop()
})

async function englishOn(guest: Visitor, path: string): Promise<readonly string[]> {
  const shown = await guest.page.evaluate<readonly string[]>(ENGLISH)
  return shown.flatMap((text) =>
    [...text.replaceAll(NAMES, '·').matchAll(RUN)].map(([run]) => `${path}: "${run}" of "${text.slice(0, 120)}"`),
  )
}

/** Every page of both in Russian; `route` answers the data where it is given. */
async function overPages(turn: number, route: ((route: Route) => Promise<void>) | null): Promise<readonly string[]> {
  const found: string[] = []
  for (const [who, paths] of [
    [customer, [...CUSTOMER, `/log/${failed}`]],
    [
      operator,
      [...OPERATOR, `/operator/accounts/${customer.accountId}`, `/operator/accounts/${customer.accountId}/statement`],
    ],
  ] as const) {
    const guest = await visitor(browser, tollgate.url, { language: 'ru' })
    await enter(guest.context, tollgate, who)
    if (route !== null) await guest.page.route(DATA, route)
    for (const path of paths.filter((_, index) => isLong !== (index % PARTS === turn))) {
      await guest.page.goto(`${tollgate.url}${path}`)
      await guest.settled()
      found.push(...(await englishOn(guest, path)), ...guest.troubles.splice(0).map((trouble) => `${path}: ${trouble}`))
    }
    await guest.close()
  }
  return found
}

test(
  'no page in Russian holds a run of English words, with events, failures and refused sign-ins to show',
  { skip },
  async () => {
    assert.deepEqual(await overPages(0, null), [])
  },
)

test('no failure on a page in Russian is told in English', { skip }, async () => {
  const answers = [
    {
      code: 402,
      message: 'Insufficient balance: required 12.35 RUB',
      metadata: { error_type: 'insufficient_balance', required: 12.341, available: 3.2, currency: 'RUB' },
    },
    {
      code: 409,
      message: 'An account has at most 500 keys',
      metadata: { error_type: 'conflict', reason: 'keys_most', params: { most: 500 } },
    },
    {
      code: 400,
      message: 'limit: must be 0 or more',
      metadata: { error_type: 'invalid_input', field: 'limit', check: 'not_negative', params: {} },
    },
    { code: 400, message: 'not at all as it should be', metadata: { error_type: 'invalid_filter' } },
  ]
  let turn = 0
  const found = await overPages(1, async (route) => {
    const error = answers[turn++ % answers.length]
    await route.fulfill({ status: error?.code ?? 500, json: { error } })
  })
  assert.deepEqual(found, [])
})

test('checks of fields that the server makes stand beside them in Russian', { skip }, async () => {
  const guest = await visitor(browser, tollgate.url, { language: 'ru' })
  await guest.page.goto(`${tollgate.url}/sign-up`)
  await guest.page.locator('[autocomplete=username]').fill('bob@example.com')
  await guest.page.locator('[autocomplete=name]').fill('Bob')
  await guest.page.locator('[autocomplete=new-password]').fill('aaaaaaaaaaaaaa')
  await guest.page.getByRole('button', { name: ru('entry.sign_up') }).click()
  await guest.page.getByText(ru('check.guessable')).first().waitFor()
  assert.deepEqual(await englishOn(guest, '/sign-up'), [])
  await guest.page.locator('[autocomplete=username]').fill('ann@example.com')
  await guest.page.locator('[autocomplete=new-password]').fill('a gate with nine hinges')
  await guest.page.getByRole('button', { name: ru('entry.sign_up') }).click()
  await guest.page
    .getByText(ru('refusal.email_taken', { email: 'ann@example.com' }))
    .first()
    .waitFor()
  assert.deepEqual([...(await englishOn(guest, '/sign-up')), ...guest.troubles], [])
  await guest.close()
})
