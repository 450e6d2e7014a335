import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from 'playwright-core'
import { namelessControls, seriousFindings, englishTexts } from '../../harness/page-findings.ts'
import { visitor, type Visitor, type VisitorOptions } from '../../harness/browser.ts'
import {
  chat,
  enter,
  makeKey,
  promote,
  signUp,
  texts,
  serveConsole,
  tollgate,
  browser,
} from '../../harness/console-world.ts'
import { isLong, oneOf } from '../../harness/form.ts'

const DATA = /\/(?:cabinet|admin)\/v1\/(?!session$)/
const STRANGER = ['/sign-in', '/sign-up', '/forgot-password', '/setup?token=wrong', '/join?token=wrong']
const MARKED = 'aside a[aria-current=page]'
/** Pages that show data. */
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
  '/notices',
  '/people',
  '/security',
]
const OPERATOR = [
  '',
  '/accounts',
  '/users',
  '/codes',
  '/payments',
  '/providers',
  '/providers/connect',
  '/prices',
  '/customer-prices',
  '/held',
  '/catalog',
  '/health',
  '/margin',
  '/requests',
  '/refusals',
  '/videos',
  '/audit',
  '/bills',
  '/events',
  '/settings',
  '/notices',
  '/ip-blocks',
  '/tokens',
].map((name) => `/operator${name}`)
/** The short form has the narrowest dark one, in the language with the longest words. */
const LOOKS: readonly VisitorOptions[] = oneOf(4, [
  { language: 'ru', dark: true, width: 320, height: 700 },
  { language: 'en' },
  { language: 'ru', dark: true },
  { language: 'ru', width: 320, height: 700 },
])
/** The short form shows one page of so many in a state of its data. */
const EVERY = 9
const ru = texts('ru')
const REFUSALS = [
  { code: 409, message: 'Not just now', metadata: { error_type: 'conflict' } },
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

const skip = await serveConsole()

// As long as its name may be without a place to break it.
const EMAIL = `ann.${'x'.repeat(50)}@example.com`
const customer = await signUp(tollgate, EMAIL)
const { key } = await makeKey(tollgate, customer, { name: 'backend', limit: 50 })
const answered =
  (await chat(tollgate, key, 'Hello', { 'http-referer': 'https://notes.example', 'x-title': 'Notes' })).headers[
    'x-generation-id'
  ] ?? ''
const failed = (await chat(tollgate, key, 'sandbox: status=500')).headers['x-generation-id'] ?? ''
await tollgate.request('POST', '/cabinet/v1/sign-in', {
  body: { email: EMAIL, password: 'not this one at all' },
  headers: { origin: tollgate.url },
})
await tollgate.admin('PATCH', '/admin/v1/settings', { markup: 0.9 })
const operator = await promote(tollgate, await signUp(tollgate, 'root@example.com', { name: 'Root' }))

const ofAccount = (): readonly string[] => [
  '/operator',
  `/operator/accounts/${customer.accountId}`,
  `/operator/accounts/${customer.accountId}/statement`,
]

for (const look of LOOKS) {
  const name = `${look.language}, ${look.dark === true ? 'dark' : 'light'}, ${look.width ?? 1280} px`
  test(
    `every page stands without violation, error or serious finding, and in Russian without a run of English words: ${name}`,
    { skip },
    async () => {
      const problems: string[] = []
      for (const who of ['stranger', 'customer', 'operator'] as const) {
        const guest = await visitor(browser, tollgate.url, look)
        if (who !== 'stranger') await enter(guest.context, tollgate, who === 'customer' ? customer : operator)
        const paths =
          who === 'stranger'
            ? STRANGER
            : who === 'customer'
              ? [`/log/${answered}`, ...CUSTOMER, `/log/${failed}`, '/settings', '/no/such/page']
              : [...OPERATOR, ...ofAccount()]
        for (const path of paths) {
          await (isLong || who === 'stranger' ? guest.page.goto(`${tollgate.url}${path}`) : guest.follow(path))
          await guest.settled()
          const wide = await guest.page.evaluate<number>(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          )
          const headings = await guest.page.locator('h1').count()
          // A narrow window has the menu closed.
          const marked = who !== 'operator' || look.width !== undefined ? 1 : await guest.page.locator(MARKED).count()
          const found = [
            ...(await seriousFindings(guest.page)),
            ...(await namelessControls(guest.page)),
            ...guest.troubles.splice(0),
            ...(headings === 1 ? [] : [`${headings} headings of the first order`]),
            ...(marked === 1 ? [] : [`${marked} entries of the menu are marked`]),
            ...(wide > 0 ? [`${wide} px wider than the window`] : []),
            ...(look.language === 'ru' ? await englishTexts(guest.page) : []),
          ]
          problems.push(...found.map((problem) => `${path}: ${problem}`))
        }
        await guest.close()
      }
      assert.deepEqual(problems, [])
    },
  )
}

/** Walks over pages of both, each with its data answered by `route`. */
async function overPages(
  turn: number,
  route: (route: Route) => Promise<void>,
  look: (guest: Visitor) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const problems: string[] = []
  for (const [who, paths] of [
    [customer, CUSTOMER],
    [operator, [...OPERATOR, ...ofAccount()]],
  ] as const) {
    const guest = await visitor(browser, tollgate.url, { language: 'ru' })
    await enter(guest.context, tollgate, who)
    for (const path of paths.filter((_, index) => isLong || index % EVERY === turn)) {
      await guest.page.route(DATA, route)
      await guest.page.goto(`${tollgate.url}${path}`)
      problems.push(...[...(await look(guest)), ...guest.troubles.splice(0)].map((problem) => `${path}: ${problem}`))
      await guest.page.unrouteAll({ behavior: 'ignoreErrors' })
    }
    await guest.close()
  }
  return problems
}

test('data that is on its way is an outline that says so', { skip }, async () => {
  const problems = await overPages(
    0,
    () => new Promise(() => undefined),
    ({ page }) =>
      page
        .getByRole('status', { name: ru('common.loading') })
        .first()
        .waitFor()
        .then(
          () => [],
          () => ['no outline'],
        ),
  )
  assert.deepEqual(problems, [])
})

test(
  'data that does not come is a sentence in the language of the page and a way to try again, which works',
  { skip },
  async () => {
    let turn = 0
    const problems = await overPages(
      3,
      async (route) => {
        const error = REFUSALS[turn++ % REFUSALS.length]
        await route.fulfill({ status: error?.code ?? 500, json: { error } })
      },
      async ({ page, settled }) => {
        const retry = page.getByRole('alert').getByRole('button', { name: ru('common.retry') })
        const told = await retry
          .first()
          .waitFor()
          .then(
            () => true,
            () => false,
          )
        if (!told) return ['says nothing']
        await settled()
        const english = await englishTexts(page)
        await page.unrouteAll({ behavior: 'ignoreErrors' })
        while ((await retry.count()) > 0) {
          const button = await retry.first().elementHandle()
          await button?.click()
          // Reading the data may cause the request that fails next.
          if (
            !(await button?.waitForElementState('hidden').then(
              () => true,
              () => false,
            ))
          )
            return [...english, 'tried again, and failed']
        }
        return english
      },
    )
    assert.deepEqual(problems, [])
  },
)

test('a list without rows says what it would hold', { skip }, async () => {
  const problems = await overPages(
    6,
    async (route) => {
      const answer = await route.fetch()
      // The console itself reads this answer.
      const body = (await answer.json()) as Record<string, unknown>
      await route.fulfill({
        response: answer,
        json: { ...body, ...(Array.isArray(body['data']) ? { data: [], total: 0 } : {}) },
      })
    },
    async ({ page, settled }) => {
      await settled()
      const bare = await page.evaluate<number>(
        "[...document.querySelectorAll('main [role=table]')].filter((table) => table.querySelector('[role=cell]') === null).length",
      )
      const refused = await page
        .getByRole('alert')
        .filter({ hasText: new RegExp(`${ru('failure.title')}|${ru('failure.refused')}`) })
        .count()
      return bare + refused > 0 ? [`${bare} tables without a row, ${refused} failures`] : []
    },
  )
  assert.deepEqual(problems, [])
})

test('checks of fields that the server makes stand beside them in Russian', { skip }, async () => {
  const guest = await visitor(browser, tollgate.url, { language: 'ru' })
  await guest.page.goto(`${tollgate.url}/sign-up`)
  await guest.page.locator('[autocomplete=username]').fill('bob@example.com')
  await guest.page.locator('[autocomplete=name]').fill('Bob')
  await guest.page.locator('[autocomplete=new-password]').fill('aaaaaaaaaaaaaa')
  await guest.page.getByRole('button', { name: ru('entry.sign_up') }).click()
  await guest.page.getByText(ru('check.guessable')).first().waitFor()
  assert.deepEqual(await englishTexts(guest.page), [])
  await guest.page.locator('[autocomplete=username]').fill(EMAIL)
  await guest.page.locator('[autocomplete=new-password]').fill('a gate with nine hinges')
  await guest.page.getByRole('button', { name: ru('entry.sign_up') }).click()
  await guest.page
    .getByText(ru('refusal.email_taken', { email: EMAIL }))
    .first()
    .waitFor()
  assert.deepEqual([...(await englishTexts(guest.page)), ...guest.troubles], [])
  await guest.close()
})

test('faults of a catalogue and its warnings are shown in Russian', { skip }, async () => {
  const guest = await visitor(browser, tollgate.url, { language: 'ru' })
  await enter(guest.context, tollgate, operator)
  await guest.page.goto(`${tollgate.url}/operator/catalog`)
  await guest.page.getByText(ru('catalog_warning.markup_below', { markup: '0,9', loss: '10' })).waitFor()
  await guest.page.getByRole('textbox', { name: ru('catalog.document') }).fill(
    JSON.stringify({
      providers: { p: { adapter: 'openai', base_url: 'https://acme.example/v1/embeddings' } },
      models: [],
    }),
  )
  await guest.page
    .getByRole('button', { name: ru('catalog.compare') })
    .last()
    .click()
  await guest.page.getByText(ru('check.operation_path', { path: '/embeddings' })).waitFor()
  assert.deepEqual([...(await englishTexts(guest.page)), ...guest.troubles], [])
  await guest.close()
})
