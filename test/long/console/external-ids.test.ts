import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { seriousFindings } from '../../harness/page-findings.ts'
import { browserSkip, LOOKS, openBrowser, visitor } from '../../harness/browser.ts'
import { buildConsole, enter, makeKey, promote, signUp, texts, type Customer } from '../../harness/console-world.ts'
import { startTollgate, type Tollgate } from '../../harness/server.ts'

const skip = browserSkip()

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
  await makeKey(tollgate, customer, { name: 'backend' })
  await tollgate.admin('POST', '/admin/v1/tokens', { name: 'ci', scopes: ['accounts:read'] })
  await tollgate.admin('POST', '/admin/v1/codes', { amount: 5 })
  await tollgate.admin('POST', '/admin/v1/account-groups', { name: 'Resale', markup: '0.9' })
  operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))
})

after(async () => {
  if (skip !== false) return
  await browser.close()
  await tollgate.stop()
})

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const field = t('field.external_id')

  test(
    `each record that programs name is named on its page, and the name is changed and taken away: ${language}`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, { language, dark })
      await enter(guest.context, tollgate, operator)
      const { page } = guest
      const account = `/operator/accounts/${customer.accountId}`
      const name = (kind: string): string => `${kind}-${language}-${dark ? 'dark' : 'light'}`
      const rows: readonly [kind: string, path: string, open: (of: Page) => Promise<void>][] = [
        ['account', account, opening()],
        ['key', `${account}?tab=keys`, opening('backend')],
        ['token', '/operator/tokens', opening('ci')],
        ['code', '/operator/codes', opening()],
        ['person', `/operator/users?query=ann`, opening('ann@example.com')],
        [
          'group',
          '/operator/customer-prices',
          (of) =>
            of
              .getByRole('main')
              .getByRole('button', { name: `${t('common.edit')}: Resale` })
              .click(),
        ],
      ]
      for (const [kind, path, open] of rows) {
        await page.goto(`${tollgate.url}${path}`)
        await guest.settled()
        const shown = page.getByRole('main').getByText(`external:${name(kind)}`, { exact: true })
        const save = async (text: string): Promise<void> => {
          await open(page)
          const dialog = page.getByRole('dialog')
          await dialog.getByRole('textbox', { name: field }).fill(text)
          await dialog.getByRole('button', { name: t('common.save'), exact: true }).click()
        }
        await save('not a name')
        const alert = page.getByRole('dialog').getByRole('alert')
        await alert.waitFor()
        assert.match(await alert.innerText(), new RegExp(field, 'i'), kind)
        assert.deepEqual(await seriousFindings(page), [], kind)
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await save(name(kind))
        await shown.waitFor()
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await save('')
        await shown.waitFor({ state: 'detached' })
      }
      // The pages' own refusals are no troubles of theirs.
      assert.deepEqual(
        guest.troubles.filter((trouble) => !/400/.test(trouble)),
        [],
      )
      await guest.close()

      function opening(of?: string): (page: Page) => Promise<void> {
        return (at) =>
          at
            .getByRole('main')
            .getByRole('button', { name: of === undefined ? new RegExp(`^${field}: `) : `${field}: ${of}` })
            .first()
            .click()
      }
    },
  )
}
