import assert from 'node:assert/strict'
import { test, after } from 'node:test'
import type { Page } from 'playwright-core'
import { findings } from '../../harness/page-findings.ts'
import { LOOKS, visitor } from '../../harness/browser.ts'
import {
  browser,
  serveConsole,
  tollgate,
  chat,
  enter,
  makeKey,
  promote,
  signUp,
  texts,
} from '../../harness/console-world.ts'
import { startScriptedUpstream, type ScriptedUpstream, answers } from '../../harness/scripted-upstream.ts'
import { startTollgate } from '../../harness/server.ts'

const ROWS = 24
const SAID = 'The deployment is asleep.'

let upstream: ScriptedUpstream
let key = ''

const skip = await serveConsole(async () => {
  upstream = await startScriptedUpstream()
  upstream.answer(answers({ error: { message: SAID } }, 500))
  return startTollgate({
    env: { TOLLGATE_LOG_LEVEL: 'error', ALLOW_PRIVATE_UPSTREAMS: 'true' },
    catalog: `
providers:
  north: { name: Northgate, adapter: openai, base_url: "${upstream.url}", api_key: sk-north }
models:
  - id: aurora/large
    type: chat
    context_length: 20000
    endpoints:
      - { provider: north, model: large, price: { currency: RUB, prompt: 200, completion: 900 } }
      - { provider: sandbox, model: chat, price: { currency: RUB, prompt: 250, completion: 970 } }
`,
  })
})

const ann = await signUp(tollgate, 'ann@example.com', { name: 'Ann Lee' })
;({ key } = await makeKey(tollgate, ann, { name: 'backend' }))
const lantern = await signUp(tollgate, 'books@lantern.example', { name: 'Lantern' })
const other = await makeKey(tollgate, lantern, { name: 'notebook' })
const routed =
  (await chat(tollgate, other.key, 'Hello', {}, { model: 'aurora/large', provider: { order: ['north', 'sandbox'] } }))
    .headers['x-generation-id'] ?? ''
await chat(tollgate, other.key, 'sandbox: status=500')
for (let row = 2; row < ROWS; row += 1) await chat(tollgate, key, `Hello ${row}`)
const operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

after(() => upstream.close())

const rowsOf = (page: Page) =>
  page
    .getByRole('main')
    .getByRole('row')
    .filter({ has: page.getByRole('cell') })

/** Waits until the list has so many rows. */
async function rowsAre(page: Page, count: number): Promise<void> {
  await rowsOf(page).nth(count).waitFor({ state: 'detached' })
  await rowsOf(page)
    .nth(count - 1)
    .waitFor()
}

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const look = { language, dark, width: 1280, height: 800 }
  test(
    `16 (${language}): a request is found by picking, opened with its route and both bills, and left to the same list`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, look)
      const { page } = guest
      await enter(guest.context, tollgate, operator)
      await page.goto(`${tollgate.url}/operator/requests`)
      await guest.settled()
      const seen = await page.evaluate<number>(
        "[...document.querySelectorAll('main tbody tr')].filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length",
      )
      assert.ok(seen >= 20, `${seen} rows fit the screen`)

      const account = page.getByRole('combobox', { name: t('requests.account') })
      await account.fill('books@')
      await page.getByRole('option', { name: /Lantern/ }).click()
      await page.waitForURL(/account=acc_/)
      await rowsOf(page).first().waitFor()
      await rowsAre(page, 2)
      await page.getByRole('combobox', { name: t('log.status') }).click()
      await page.getByRole('option', { name: t('error.provider_error'), exact: true }).click()
      await page.waitForURL(/error_type=provider_error/)
      await rowsAre(page, 1)
      await page.getByRole('button', { name: t('log.clear') }).click()
      const model = page.getByRole('combobox', { name: t('usage.model') })
      await model.fill('aurora/large')
      await model.press('Enter')
      await page.waitForURL(/model=aurora/)
      await rowsAre(page, 1)

      await rowsOf(page).getByRole('link').click()
      await page.waitForURL(new RegExp(`request=${routed}`))
      const drawer = page.getByRole('dialog')
      await drawer.getByText('Northgate').waitFor()
      await drawer.getByText(SAID).waitFor()
      await drawer.getByRole('link', { name: 'Lantern' }).waitFor()
      await drawer.getByRole('link', { name: 'notebook' }).waitFor()
      await drawer.getByRole('table', { name: t('requests.provider_bill') }).waitFor()
      const found = [...(await findings(page, language))]
      assert.deepEqual([...found.filter((text) => !text.includes(SAID)), ...guest.troubles.splice(0)], [])
      await drawer.getByRole('button', { name: t('common.close') }).click()
      await drawer.waitFor({ state: 'detached' })
      assert.match(page.url(), /\/operator\/requests\?model=aurora%2Flarge$/)
      await guest.close()
    },
  )

  test(`16 (${language}): the bills of a request add up to the last digit`, { skip }, async () => {
    const guest = await visitor(browser, tollgate.url, look)
    const { page } = guest
    await enter(guest.context, tollgate, operator)
    await page.goto(`${tollgate.url}/operator/requests?request=${routed}`)
    for (const bill of ['customer_bill', 'provider_bill'] as const) {
      const table = page.getByRole('dialog').getByRole('table', { name: t(`requests.${bill}`) })
      await table.waitFor()
      const amounts = (await table.locator('tr > td:last-child').allInnerTexts()).map((text) =>
        Math.round(Number(text.replaceAll(/[^\d.,-]/g, '').replace(',', '.')) * 1e9),
      )
      const labels = await table.getByRole('rowheader').allInnerTexts()
      const sumAt = labels.indexOf(t('request.sum'))
      const add = (list: readonly number[]): number => list.reduce((sum, amount) => sum + amount, 0)
      assert.equal(add(amounts.slice(0, sumAt)), amounts[sumAt], `${labels.join(', ')}: ${amounts.join(', ')}`)
      assert.equal(add(amounts.slice(sumAt, -1)), amounts.at(-1), `${labels.join(', ')}: ${amounts.join(', ')}`)
    }
    assert.deepEqual(guest.troubles, [])
    await guest.close()
  })

  test(
    `16 (${language}): new requests appear by themselves until the list is paused; the drawer goes up and down`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, look)
      const { page } = guest
      await enter(guest.context, tollgate, operator)
      await page.goto(`${tollgate.url}/operator/requests?account=${ann.accountId}`)
      await rowsOf(page).first().waitFor()
      const made = async (): Promise<string> => (await chat(tollgate, key, 'One more')).headers['x-generation-id'] ?? ''
      const link = (id: string) => page.locator(`main tbody a[href*="${id}"]`)
      const first = await made()
      await link(first).waitFor()
      const live = page.getByRole('switch', { name: t('log.live') })
      await live.uncheck()
      const second = await made()
      await link(first).click()
      const drawer = page.getByRole('dialog')
      await drawer.getByText(first).waitFor()
      assert.equal(
        await drawer.getByRole('button', { name: t('common.previous') }).isDisabled(),
        true,
        'paused: the first row stays first',
      )
      await drawer.getByRole('button', { name: t('common.next') }).click()
      await page.waitForURL((url) => !url.href.includes(first))
      await drawer.getByRole('button', { name: t('common.previous') }).click()
      await drawer.getByText(first).waitFor()
      await drawer.getByRole('button', { name: t('common.close') }).click()
      assert.equal(await link(second).count(), 0)
      await live.check()
      await link(second).waitFor()
      assert.deepEqual(guest.troubles, [])
      await guest.close()
    },
  )
}
