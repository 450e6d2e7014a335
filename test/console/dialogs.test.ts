import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { namelessControls, seriousFindings } from '../harness/axe.ts'
import { browserSkip, openBrowser, visitor, type VisitorOptions } from '../harness/browser.ts'
import { buildConsole, chat, enter, makeKey, promote, signUp, texts, type Customer } from '../harness/console-world.ts'
import { form } from '../harness/form.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'

const skip = browserSkip()
const HEIGHT = 720
const LOOKS: readonly VisitorOptions[] = form({
  short: [{ language: 'ru', dark: true, width: 390, height: HEIGHT }],
  long: [
    { language: 'en', width: 1280, height: HEIGHT },
    { language: 'ru', dark: true, width: 1280, height: HEIGHT },
    { language: 'en', width: 390, height: HEIGHT },
  ],
})

type Text = ReturnType<typeof texts>

interface Opening {
  readonly what: string
  readonly who: 'customer' | 'operator'
  readonly path: string
  readonly open: (page: Page, t: Text) => Promise<void>
}

const press = (name: string) => async (page: Page, t: Text) => {
  await page
    .getByRole('main')
    .getByRole('button', { name: t(name), exact: true })
    .first()
    .click()
}

/** Opens a menu by the beginning of its button's name, and takes an entry. */
const take = (of: string, entry: string) => async (page: Page, t: Text) => {
  await page
    .getByRole('main')
    .getByRole('button', { name: t('keys.actions_of', { name: of }), exact: true })
    .click()
  await page.getByRole('menuitem', { name: t(entry), exact: true }).click()
}

let tollgate: Tollgate
let browser: Browser
let customer: Customer
let operator: Customer
let answered = ''

const OPENINGS: readonly Opening[] = [
  { what: 'a new key', who: 'customer', path: '/keys', open: press('keys.create') },
  { what: 'a key', who: 'customer', path: '/keys', open: take('backend', 'common.edit') },
  { what: 'a replaced key', who: 'customer', path: '/keys', open: take('backend', 'keys.rotate') },
  { what: 'settings of clients', who: 'customer', path: '/keys', open: take('backend', 'keys.use_with') },
  { what: 'the end of a key', who: 'customer', path: '/keys', open: take('backend', 'common.delete') },
  { what: 'a management key', who: 'customer', path: '/keys', open: press('keys.management_create') },
  { what: 'a call', who: 'customer', path: '/playground', open: press('play.call') },
  {
    what: 'a comparison',
    who: 'customer',
    path: '/models?query=sandbox',
    open: async (page, t) => {
      const boxes = page.locator('main tbody').getByRole('checkbox')
      await boxes.nth(0).check()
      await boxes.nth(1).check()
      await page.locator('main').getByRole('button', { name: /2/ }).first().click()
      await page.getByRole('dialog', { name: t('models.compare_title') }).waitFor()
    },
  },
  { what: 'a new account', who: 'operator', path: '/operator/accounts', open: press('accounts.create') },
  {
    what: 'an external id',
    who: 'operator',
    path: 'account',
    open: async (page, t) =>
      page
        .getByRole('main')
        .getByRole('button', { name: new RegExp(`^${t('field.external_id')}: `) })
        .first()
        .click(),
  },
  { what: 'a locked account', who: 'operator', path: 'account', open: press('accounts.do_locked') },
  {
    what: 'an entry',
    who: 'operator',
    path: 'account',
    open: async (page, t) => {
      await page.getByLabel(t('money.amount')).first().fill('5')
      await page.getByLabel(t('ledger.reason')).first().fill('a gift')
      await page.getByRole('button', { name: t('accounts.post'), exact: true }).click()
    },
  },
  { what: 'codes', who: 'operator', path: '/operator/codes', open: press('codes.create') },
  { what: 'a token', who: 'operator', path: '/operator/tokens', open: press('tokens.create') },
  { what: 'a receiver', who: 'operator', path: '/operator/notices', open: press('notices.add') },
  { what: 'a group', who: 'operator', path: '/operator/customer-prices', open: press('customers.add_group') },
  { what: 'a provider', who: 'operator', path: '/operator/providers', open: press('common.edit') },
  { what: 'the end of a provider', who: 'operator', path: '/operator/providers', open: press('common.delete') },
  { what: 'a new model', who: 'operator', path: '/operator/prices', open: press('prices.add') },
  { what: 'a model', who: 'operator', path: '/operator/prices?query=sandbox', open: press('common.edit') },
  { what: 'a change', who: 'operator', path: '/operator/events', open: press('events.change') },
  {
    what: 'a password link',
    who: 'operator',
    path: '/operator/users',
    open: take('ann@example.com', 'users.password_link'),
  },
  { what: 'a request', who: 'operator', path: 'request', open: async () => undefined },
]

before(async () => {
  if (skip !== false) return
  buildConsole()
  tollgate = await startTollgate({ env: { TOLLGATE_LOG_LEVEL: 'error' } })
  browser = await openBrowser()
  customer = await signUp(tollgate, 'ann@example.com')
  const { key } = await makeKey(tollgate, customer, { name: 'backend', limit: 50 })
  answered = (await chat(tollgate, key, 'Hello')).headers['x-generation-id'] ?? ''
  operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))
})

after(async () => {
  if (skip !== false) return
  await browser.close()
  await tollgate.stop()
})

for (const look of LOOKS) {
  const t = texts(look.language ?? 'en')
  test(
    `every dialog fits ${look.width} × ${HEIGHT} px and names its controls: ${look.language}, ${look.dark === true ? 'dark' : 'light'}`,
    { skip },
    async () => {
      const problems: string[] = []
      for (const who of ['customer', 'operator'] as const) {
        const guest = await visitor(browser, tollgate.url, look)
        const { page } = guest
        await enter(guest.context, tollgate, who === 'customer' ? customer : operator)
        for (const { what, path, open } of OPENINGS.filter((opening) => opening.who === who)) {
          const address =
            path === 'account'
              ? `/operator/accounts/${customer.accountId}`
              : path === 'request'
                ? `/operator/requests?request=${answered}`
                : path
          await page.goto(`${tollgate.url}${address}`)
          await guest.settled()
          await open(page, t)
          const dialog = page.getByRole('dialog').last()
          await dialog.waitFor()
          await guest.settled()
          const found = [
            ...(await fits(page)),
            ...(await seriousFindings(page)),
            ...(await namelessControls(page)),
            ...guest.troubles.splice(0),
          ]
          problems.push(...found.map((problem) => `${what}: ${problem}`))
        }
        await guest.close()
      }
      assert.deepEqual(problems, [])
    },
  )
}

/** The dialog is within the window, and so is its last button, once it is scrolled to. */
async function fits(page: Page): Promise<readonly string[]> {
  const { width = 0, height = 0 } = page.viewportSize() ?? {}
  const dialog = page.getByRole('dialog').last()
  const last = dialog.getByRole('button').last()
  await last.scrollIntoViewIfNeeded()
  const outside: string[] = []
  for (const [name, part] of [
    ['it', dialog],
    ['its last button', last],
  ] as const) {
    const box = await part.boundingBox()
    if (box === null || box.x < -1 || box.y < -1 || box.x + box.width > width + 1 || box.y + box.height > height + 1)
      outside.push(`${name} is outside of the window: ${JSON.stringify(box)}`)
  }
  const wide = await page.evaluate<number>(
    "(([dialog]) => dialog.scrollWidth - dialog.clientWidth)([...document.querySelectorAll('[role=dialog]')].slice(-1))",
  )
  return wide > 1 ? [...outside, `${wide} px wider than it shows`] : outside
}
