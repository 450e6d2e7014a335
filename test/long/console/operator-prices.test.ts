import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findings } from '../../harness/page-findings.ts'
import { LOOKS, visitor } from '../../harness/browser.ts'
import { enter, signUp, texts, browser, promote, serveConsole, tollgate } from '../../harness/console-world.ts'

const skip = await serveConsole()

const owner = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const name = `${language}, ${dark ? 'dark' : 'light'}`

  test(
    `16 (${name}): a group is made, an account put into it, and both pages say what it pays and why`,
    { skip },
    async () => {
      const customer = await signUp(tollgate, `pays-${language}-${dark}@example.com`)
      const guest = await visitor(browser, tollgate.url, { language, dark, height: 720 })
      const { page } = guest
      const problems: string[] = []
      const look = async (): Promise<void> => {
        problems.push(...(await findings(page, language)))
      }
      await enter(guest.context, tollgate, owner)
      await page.goto(`${tollgate.url}/operator/customer-prices`)
      await page.getByRole('button', { name: t('customers.add_group') }).click()
      const dialog = page.getByRole('dialog')
      const group = `Партнёры ${language === 'ru' ? 1 : 2}${dark ? 1 : 2}`
      await dialog.getByLabel(t('keys.name')).fill(group)
      await dialog.getByLabel(t('field.markup')).fill(language === 'ru' ? '0,5' : '0.5')
      await look()
      await dialog.getByRole('button', { name: t('common.save') }).click()
      await page
        .getByRole('row', { name: new RegExp(group) })
        .first()
        .waitFor()

      await page.goto(`${tollgate.url}/operator/accounts/${customer.accountId}?tab=prices`)
      await guest.settled()
      await page.getByRole('combobox', { name: t('field.group') }).click()
      await page.getByRole('option', { name: new RegExp(group) }).click()
      await page.getByRole('button', { name: t('common.save') }).click()
      const row = page.getByRole('row', { name: /sandbox\/chat/ })
      await row.getByText(group).waitFor()
      await look()
      const { body } = await tollgate.admin(
        'GET',
        `/admin/v1/customer-prices?account=${customer.accountId}&model=sandbox/chat`,
      )
      const [{ listed, paid }] = body.data[0].endpoints[0].lines
      assert.equal(Number(paid), Number(listed) / 2)

      await page.goto(`${tollgate.url}/operator/customer-prices?by=account&account=${customer.accountId}&query=chat`)
      await page
        .getByRole('row', { name: /sandbox\/chat/ })
        .getByText(group)
        .waitFor()
      await page.getByRole('searchbox').fill('embeddings')
      await page.getByRole('row', { name: /sandbox\/embeddings/ }).waitFor()
      await page.waitForURL(/query=embeddings/)
      await look()
      assert.deepEqual([...problems, ...guest.troubles], [])
      await guest.close()
    },
  )
}
