import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { LOOKS, visitor, type Visitor } from '../../harness/browser.ts'
import { enter, signUp, texts, serveConsole, tollgate, browser } from '../../harness/console-world.ts'
import { startTollgate } from '../../harness/server.ts'

const SAID = { en: 'The console did not load completely', ru: 'Консоль загрузилась не полностью' } as const
const AGAIN = { en: 'Try again', ru: 'Повторить' } as const
const TYPED = 'Anna-Maria'

const skip = await serveConsole(() => startTollgate())

const customer = await signUp(tollgate, 'ann@example.com')

async function entered(look: (typeof LOOKS)[number]): Promise<Visitor> {
  const guest = await visitor(browser, tollgate.url, look)
  await enter(guest.context, tollgate, customer)
  return guest
}

/** The page of settings with a name that is typed and not saved. */
async function typing(guest: Visitor, t: (path: string) => string): Promise<Page> {
  const { page } = guest
  await page.goto(`${tollgate.url}/settings`)
  await page.getByRole('textbox', { name: t('entry.name') }).fill(TYPED)
  return page
}

for (const look of LOOKS) {
  const t = texts(look.language)
  const name = `${look.language}, ${look.dark ? 'dark' : 'light'}`

  for (const file of ['first-*.js', 'libraries-*.js', `${look.language}-*.js`])
    test(
      `a page without its file ${file} is a sentence with a way to try again, which works: ${name}`,
      { skip },
      async () => {
        const guest = await entered(look)
        const { page } = guest
        await page.route(`**/assets/${file}`, (route) => route.abort())
        await page.goto(`${tollgate.url}/`)
        await page.getByText(SAID[look.language]).waitFor()
        await page.unrouteAll({ behavior: 'ignoreErrors' })
        await page.getByRole('link', { name: AGAIN[look.language] }).click()
        await page.getByRole('heading', { level: 1, name: t('nav.home') }).waitFor()
        await guest.close()
      },
    )

  test(
    `a link whose page cannot be loaded leaves what was typed, and leads there when tried again: ${name}`,
    { skip },
    async () => {
      const guest = await entered(look)
      const page = await typing(guest, t)
      await page.route('**/assets/ModelsPage-*.js', (route) => route.abort())
      await page.getByRole('link', { name: t('nav.models'), exact: true }).click()
      const told = page.getByRole('alert').filter({ hasText: t('failure.types.unreachable') })
      await told.waitFor()
      assert.equal(await page.getByRole('textbox', { name: t('entry.name') }).inputValue(), TYPED)
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await told.getByRole('button', { name: t('common.retry') }).click()
      await page.getByRole('heading', { level: 1, name: t('nav.models') }).waitFor()
      await guest.close()
    },
  )

  test(
    `after a new release a link says so, leaves what was typed, and the page comes anew: ${name}`,
    { skip },
    async () => {
      const guest = await entered(look)
      const page = await typing(guest, t)
      await page.route('**/assets/ModelsPage-*.js', (route) => route.fulfill({ status: 404, body: '' }))
      await page.route(`${tollgate.url}/`, (route) =>
        route.fulfill({
          contentType: 'text/html',
          body: '<script type="module" src="/assets/first-other.js"></script>',
        }),
      )
      await page.getByRole('link', { name: t('nav.models'), exact: true }).click()
      const told = page.getByRole('alert').filter({ hasText: t('failure.types.released') })
      await told.waitFor()
      assert.equal(await page.getByRole('textbox', { name: t('entry.name') }).inputValue(), TYPED)
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await told.getByRole('button', { name: t('failure.reload') }).click()
      await page.getByRole('heading', { level: 1, name: t('nav.models') }).waitFor()
      await guest.close()
    },
  )

  test(
    `a chart whose picture cannot be loaded is its table, and comes when tried again: ${name}`,
    { skip },
    async () => {
      const guest = await entered(look)
      const { page } = guest
      await page.route('**/assets/DayDrawing-*.js', (route) => route.abort())
      await page.goto(`${tollgate.url}/`)
      const told = page.getByRole('alert').filter({ hasText: t('failure.types.unreachable') })
      await told.waitFor()
      const rows = page.getByRole('region', { name: t('home.chart') }).getByRole('row')
      assert.equal(await rows.count(), 31)
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await told.getByRole('button', { name: t('common.retry') }).click()
      await page.locator('main [role=slider] svg').first().waitFor()
      assert.equal(await rows.count(), 0)
      await guest.close()
    },
  )

  test(`a page that breaks on an answer is a sentence with a picture, and loads anew: ${name}`, { skip }, async () => {
    const guest = await entered(look)
    const { page } = guest
    await page.route('**/cabinet/v1/ledger*', (route) => route.fulfill({ json: { data: [null], next_cursor: null } }))
    await page.goto(`${tollgate.url}/ledger`)
    const told = page.getByRole('alert').filter({ hasText: t('failure.unknown') })
    await told.locator('[data-picture=broken]').waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await told.getByRole('button', { name: t('common.retry') }).click()
    await page.getByRole('heading', { level: 1, name: t('nav.ledger') }).waitFor()
    await guest.close()
  })

  test(`without a network data is a sentence with a way to try again, which works: ${name}`, { skip }, async () => {
    const guest = await entered(look)
    const { page } = guest
    await page.goto(`${tollgate.url}/models`)
    await guest.settled()
    const link = page.getByRole('link', { name: t('nav.ledger'), exact: true })
    const file = page.waitForResponse(/LedgerPage/)
    await link.hover()
    await file
    await guest.settled()
    await guest.context.setOffline(true)
    await link.click()
    await page.getByRole('heading', { level: 1, name: t('nav.ledger') }).waitFor()
    const told = page.getByRole('alert').filter({ hasText: t('failure.types.unreachable') })
    await told.locator('[data-picture=offline]').first().waitFor()
    await guest.context.setOffline(false)
    await told
      .first()
      .getByRole('button', { name: t('common.retry') })
      .click()
    await page.getByRole('table').first().waitFor()
    await guest.close()
  })
}
