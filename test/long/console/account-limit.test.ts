import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { seriousFindings, englishTexts } from '../../harness/page-findings.ts'
import { LOOKS, visitor } from '../../harness/browser.ts'
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

const skip = await serveConsole()

const customer = await signUp(tollgate, 'ann@example.com')
await chat(tollgate, (await makeKey(tollgate, customer, { name: 'backend' })).key, 'Hello')
const operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const name = `${language}-${dark ? 'dark' : 'light'}`

  test(
    `4 (${name}): an operator sets the limit of an account, its customer sees it, and it is taken off`,
    { skip },
    async () => {
      const problems: string[] = []
      const look = async (page: Page): Promise<void> => {
        const english = language === 'ru' ? await englishTexts(page) : []
        problems.push(...(await seriousFindings(page)), ...english)
      }
      const path = `/admin/v1/accounts/${customer.accountId}`
      const desk = await visitor(browser, tollgate.url, { language, dark, height: 720 })
      await enter(desk.context, tollgate, operator)
      const { page } = desk
      await page.goto(`${tollgate.url}/operator/accounts/${customer.accountId}?tab=limits`)
      await page.getByText(t('keys.kind_periodic'), { exact: true }).click()
      const save = page.getByRole('button', { name: t('common.save'), exact: true })
      await page
        .getByRole('textbox', { name: t('keys.amount'), exact: true })
        .fill(language === 'ru' ? '250,5' : '250.5')
      await look(page)
      const saved = page.waitForResponse((response) => response.request().method() === 'PATCH')
      await save.click()
      assert.equal((await saved).status(), 200)
      await page.getByText(t('limits.monthly')).waitFor()
      await page.getByRole('meter').waitFor()
      await look(page)
      const { body } = await tollgate.admin('GET', path)
      assert.deepEqual([body.limit, body.limit_reset], [250.5, 'monthly'])
      assert.ok(body.limit_used > 0)

      const guest = await visitor(browser, tollgate.url, { language, dark, height: 720 })
      await enter(guest.context, tollgate, customer)
      await guest.page.goto(`${tollgate.url}/`)
      await guest.page.getByText(t('limits.monthly')).waitFor()
      await guest.page.getByRole('meter').first().waitFor()
      await look(guest.page)

      await page.getByText(t('keys.kind_none'), { exact: true }).click()
      await save.click()
      await page.getByText(t('limits.monthly')).waitFor({ state: 'detached' })
      assert.equal((await tollgate.admin('GET', path)).body.limit, null)
      assert.deepEqual([...problems, ...desk.troubles, ...guest.troubles], [])
      await guest.close()
      await desk.close()
    },
  )
}
