import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import { seriousFindings, englishTexts } from '../../harness/page-findings.ts'
import { LOOKS, visitor, type Visitor } from '../../harness/browser.ts'
import {
  chat,
  enter,
  makeKey,
  promote,
  signUp,
  texts,
  type Customer,
  serveConsole,
  tollgate,
  browser,
} from '../../harness/console-world.ts'
import { until } from '../../harness/patience.ts'

/** With those of the customer, the operator and the demonstration they take two pages. */
const ACCOUNTS = 55
const PAGE_ROWS = 50
const PAINTED_MS = 10_000
const KEYS = ['beta', 'Alpha', 'gamma 10', 'gamma 9']
const IN_ORDER = ['Alpha', 'beta', 'gamma 9', 'gamma 10']
const LEAD = 'main tbody tr td:first-child'

const skip = await serveConsole()

const customer = await signUp(tollgate, 'ann@example.com')
for (const name of KEYS) {
  const { key } = await makeKey(tollgate, customer, { name })
  await chat(tollgate, key, 'Hello')
}
const group = (await tollgate.admin('POST', '/admin/v1/account-groups', { name: 'Resale', markup: '0.9' })).body.id
for (let at = 0; at < ACCOUNTS; at += 1)
  await tollgate.admin('POST', '/admin/v1/accounts', {
    name: `Client ${String((at * 7) % ACCOUNTS).padStart(2, '0')}`,
    ...(at < 3 ? { group } : {}),
  })
const operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

/** Waits until the first column begins with these names. */
async function leadsAre(page: Page, names: readonly string[]): Promise<void> {
  const shown = async (): Promise<readonly string[]> =>
    (await page.locator(LEAD).allInnerTexts()).slice(0, names.length).map((text) => text.split('\n')[0] ?? '')
  await until(PAINTED_MS, names.join(', '), async () => isDeepStrictEqual(await shown(), names)).catch(async () =>
    assert.deepEqual(await shown(), names),
  )
}

const header = (page: Page, name: string): Locator => page.getByRole('columnheader', { name, exact: true })

/** The lines of a file that the page saves or links to, without its mark. */
async function saved(page: Page, button: string): Promise<readonly string[]> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('main').getByText(button, { exact: true }).first().click(),
  ])
  const text = readFileSync(await download.path(), 'utf8')
  assert.equal(text.charCodeAt(0), 0xfeff)
  return text.slice(1).trimEnd().split('\r\n')
}

/** The cells of a line: programs with Russian settings split at semicolons. */
function cells(line: string): readonly string[] {
  return line.split(line.includes(';') ? ';' : ',')
}

/** The values of a column of a file whose texts have no commas. */
function column([head = '', ...lines]: readonly string[], name: string): readonly string[] {
  const at = cells(head).indexOf(name)
  return lines.map((line) => cells(line)[at] ?? '')
}

async function soundAs(guest: Visitor, language: string): Promise<void> {
  const english = language === 'ru' ? await englishTexts(guest.page) : []
  assert.deepEqual(
    [
      ...(await seriousFindings(guest.page)),
      ...english.filter((text) => !/Client \d\d|gamma \d|Hello/.test(text)),
      ...guest.troubles.splice(0),
    ],
    [],
  )
}

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const visit = async (who: Customer, path: string, width = 1280): Promise<Visitor> => {
    const guest = await visitor(browser, tollgate.url, { language, dark, width, height: 800 })
    await enter(guest.context, tollgate, who)
    await guest.page.goto(`${tollgate.url}${path}`)
    await guest.settled()
    return guest
  }
  const title = `${language}, ${dark ? 'dark' : 'light'}`

  test(
    `a list of all rows is sorted by a column's name, with the keyboard too, and a link to it opens it so: ${title}`,
    { skip },
    async () => {
      const guest = await visit(customer, '/keys')
      const { page } = guest
      const name = header(page, t('keys.name'))
      assert.equal(await name.first().getAttribute('aria-sort'), 'none')
      const sort = name.first().getByRole('button', { name: t('keys.name'), exact: true })
      await sort.click()
      await leadsAre(page, IN_ORDER)
      assert.equal(await name.first().getAttribute('aria-sort'), 'ascending')
      await sort.press('Enter')
      await leadsAre(page, IN_ORDER.toReversed())
      assert.equal(await name.first().getAttribute('aria-sort'), 'descending')
      assert.match(page.url(), /\/keys\?sort=-name$/)
      await soundAs(guest, language)
      await page.reload()
      await leadsAre(page, IN_ORDER.toReversed())
      await sort.press('Space')
      await page.waitForURL(/\/keys$/)
      await guest.close()
    },
  )

  test(
    `columns and the height of rows are chosen and kept, and a file has the columns that are seen: ${title}`,
    { skip },
    async () => {
      const guest = await visit(customer, '/keys?sort=name')
      const { page } = guest
      const view = page.getByRole('button', { name: t('list.view') }).first()
      const tall = (await page.locator('main tbody tr').first().boundingBox())?.height ?? 0
      await view.click()
      await page.getByRole('checkbox', { name: t('keys.created') }).check()
      await page.getByRole('checkbox', { name: t('keys.last_used') }).uncheck()
      await page.getByRole('switch', { name: t('list.dense') }).check()
      await soundAs(guest, language)
      await page.keyboard.press('Escape')
      await page.waitForFunction(`document.activeElement?.textContent === ${JSON.stringify(t('list.view'))}`)
      await header(page, t('keys.created')).first().waitFor()
      await page.reload()
      await header(page, t('keys.created')).first().waitFor()
      const main = page.locator('main table').first()
      assert.equal(await main.getByRole('columnheader', { name: t('keys.last_used') }).count(), 0)
      assert.ok(((await page.locator('main tbody tr').first().boundingBox())?.height ?? Infinity) < tall)
      const [head = '', ...lines] = await saved(page, t('list.csv'))
      assert.deepEqual(cells(head), [
        t('keys.name'),
        t('keys.state'),
        t('keys.usage_limit'),
        t('keys.month'),
        t('keys.created'),
      ])
      assert.deepEqual(
        lines.map((line) => cells(line)[0]),
        IN_ORDER,
      )
      await guest.close()
    },
  )

  test(
    `a list that the server pages is sorted and filtered by the server, linked to, and saved whole: ${title}`,
    { skip },
    async () => {
      const guest = await visit(operator, '/operator/accounts')
      const { page } = guest
      const named = Array.from({ length: ACCOUNTS }, (_, at) => `Client ${String(at).padStart(2, '0')}`)
      await header(page, t('keys.name')).getByRole('button').click()
      await leadsAre(page, ['Ann Lee', 'Ann Lee', ...named.slice(0, 3)])
      assert.equal(await header(page, t('home.balance')).getAttribute('aria-sort'), null, 'it has no index')
      await page.getByRole('button', { name: t('common.next'), exact: true }).click()
      await leadsAre(page, named.slice(PAGE_ROWS - 2))
      assert.match(page.url(), /sort=name&offset=50$|offset=50&sort=name$/)
      await page.reload()
      await leadsAre(page, named.slice(PAGE_ROWS - 2))
      assert.deepEqual(column(await saved(page, t('list.csv')), 'name'), ['Ann Lee', 'Ann Lee', ...named, 'Demo'])
      await soundAs(guest, language)
      await page.getByRole('combobox', { name: t('accounts.group') }).click()
      await page.getByRole('option', { name: 'Resale' }).click()
      await leadsAre(page, ['Client 00', 'Client 07', 'Client 14'])
      assert.equal(await page.locator(LEAD).count(), 3)
      assert.match(page.url(), new RegExp(`group=${group}`))
      assert.deepEqual(column(await saved(page, t('list.csv')), 'group'), [group, group, group])
      await page.goto(`${tollgate.url}/operator/accounts?query=Client+1&sort=-name`)
      await leadsAre(page, ['Client 19', 'Client 18'])
      assert.equal(await page.getByRole('searchbox').inputValue(), 'Client 1')
      await guest.close()
    },
  )

  test(`a link that is followed right after typing leads where it says: ${title}`, { skip }, async () => {
    const guest = await visit(operator, '/operator/accounts')
    const { page } = guest
    const link = page.getByRole('row', { name: /Client 03/ }).getByRole('link')
    await link.waitFor()
    const typed = Promise.withResolvers<null>()
    await page.route(/AccountPage.*js$/, async (route) => {
      await typed.promise
      await route.continue()
    })
    await page.clock.install()
    await page.getByRole('searchbox').fill('Client 0')
    await link.click()
    // The text would be applied now.
    await page.clock.runFor(1_000)
    typed.resolve(null)
    await page.waitForURL(/\/operator\/accounts\/[^/?]+$/)
    await guest.close()
  })

  test(`each line of a ledger says the balance after it: ${title}`, { skip }, async () => {
    const guest = await visit(customer, '/ledger')
    const { page } = guest
    const figure = (text: string): number =>
      Number(
        text
          .replaceAll(/[^\d.,+-]/g, '')
          .replaceAll(language === 'ru' ? /[^\d,+-]/g : /[^\d.+-]/g, '')
          .replace(',', '.'),
      )
    for (const path of ['/ledger', `/operator/accounts/${customer.accountId}?tab=money`]) {
      if (path !== '/ledger') await enter(guest.context, tollgate, operator)
      await page.goto(`${tollgate.url}${path}`)
      await guest.settled()
      const rows = page.getByRole('table', { name: t('nav.ledger') }).getByRole('row')
      const lines = await Promise.all(
        (await rows.all())
          .slice(1)
          .map(async (row) => (await row.getByRole('cell').allInnerTexts()).slice(-2).map(figure)),
      )
      assert.equal(lines.length, KEYS.length + 1)
      let balance = 0
      for (const [amount = 0, after = 0] of lines.toReversed()) {
        balance += amount
        assert.equal(after.toFixed(6), balance.toFixed(6), path)
      }
      await soundAs(guest, language)
    }
    await guest.close()
  })

  test(`on a phone the log keeps tokens and duration, and lists are sorted too: ${title}`, { skip }, async () => {
    const guest = await visit(customer, '/log', 390)
    const { page } = guest
    const row = page
      .getByRole('table', { name: t('nav.log') })
      .getByRole('row')
      .filter({ has: page.getByRole('link') })
    await row.first().waitFor()
    assert.match(await row.first().innerText(), /\d → \d/)
    assert.match(await row.first().innerText(), language === 'ru' ? /\d (?:мс|с)(?!\S)/ : /\d m?s\b/)
    await soundAs(guest, language)
    await page.goto(`${tollgate.url}/keys`)
    await page
      .getByRole('button', { name: t('list.view') })
      .first()
      .click()
    await page
      .getByRole('combobox', { name: t('list.sort') })
      .selectOption({ label: t('list.rising', { column: t('keys.name') }) })
    await leadsAre(page, IN_ORDER)
    await soundAs(guest, language)
    await guest.close()
  })
}
