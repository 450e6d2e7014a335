import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { seriousFindings } from '../../harness/page-findings.ts'
import { LOOKS, visitor } from '../../harness/browser.ts'
import { enter, makeKey, promote, signUp, texts, serveConsole, tollgate, browser } from '../../harness/console-world.ts'

const skip = await serveConsole()

const customer = await signUp(tollgate, 'ann@example.com')
await makeKey(tollgate, customer, { name: 'backend' })
await tollgate.admin('POST', '/admin/v1/tokens', { name: 'ci', scopes: ['accounts:read'] })
await tollgate.admin('POST', '/admin/v1/codes', { amount: 5 })
await tollgate.admin('POST', '/admin/v1/account-groups', { name: 'Resale', markup: '0.9' })
const operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

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
        // What the server says stands beside the field.
        const refused = page
          .getByRole('dialog')
          .getByRole('textbox', { name: field })
          .and(page.locator('[aria-invalid=true]'))
        await refused.waitFor()
        const told = (await refused.getAttribute('aria-describedby'))?.split(' ').find((id) => id.endsWith('-error'))
        assert.notEqual(await page.locator(`[id="${told}"]`).innerText(), '', kind)
        assert.deepEqual(await seriousFindings(page), [], kind)
        await page.keyboard.press('Escape')
        await page.getByRole('button', { name: t('common.discard'), exact: true }).click()
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
