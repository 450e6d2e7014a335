import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OperatorRole } from '../../../src/tables/scopes.ts'
import { findings, seriousFindings } from '../../harness/page-findings.ts'
import { LOOKS, visitor } from '../../harness/browser.ts'
import {
  enter,
  signUp,
  texts,
  type Customer,
  browser,
  promote,
  serveConsole,
  tollgate,
} from '../../harness/console-world.ts'

const skip = await serveConsole()

const owner = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const name = `${language}, ${dark ? 'dark' : 'light'}`

  test(
    `16 (${name}): a token is made with chosen rights, shown once, works as far as they go, and is revoked`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, { language, dark, height: 720 })
      const { page } = guest
      await enter(guest.context, tollgate, owner)
      await page.goto(`${tollgate.url}/operator/tokens`)
      await page.getByRole('button', { name: t('tokens.create') }).click()
      const dialog = page.getByRole('dialog')
      const token = `deploy-${language}-${dark ? 'dark' : 'light'}`
      await dialog.getByLabel(t('keys.name')).fill(token)
      const scope = (area: string, kind: string) =>
        dialog.getByRole('checkbox', { name: `${t(`scope.${area}`)}: ${t(`tokens.${kind}`)}`, exact: true })
      const checked = dialog.getByRole('checkbox', { checked: true })
      while ((await checked.count()) > 0) await checked.first().click()
      await scope('accounts', 'read').check()
      await scope('catalog', 'write').check()
      const problems = [...(await findings(page, language))]
      const height = (await dialog.boundingBox())?.height ?? 0
      await dialog.getByRole('button', { name: t('tokens.create') }).click()
      const secret = await page.getByRole('dialog').locator('code').first().innerText()
      assert.match(secret, /^sk-tga-/)
      problems.push(...(await seriousFindings(page)))
      await page.getByRole('button', { name: t('tokens.kept') }).click()
      const row = page.getByRole('row', { name: new RegExp(token) })
      await row.getByText(t('scope.catalog')).waitFor()
      assert.equal((await page.content()).includes(secret), false)
      const asked = async (path: string): Promise<number> =>
        (await tollgate.request('GET', path, { headers: { authorization: `Bearer ${secret}` } })).status
      assert.deepEqual([await asked('/admin/v1/accounts'), await asked('/admin/v1/settings')], [200, 403])
      await row.getByRole('button', { name: t('tokens.revoke_name', { name: token }) }).click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: t('tokens.revoke'), exact: true })
        .click()
      await row.getByText(t('tokens.revoked')).waitFor()
      assert.equal(await asked('/admin/v1/accounts'), 401)
      await row.getByRole('link', { name: t('tokens.events') }).click()
      await page.waitForURL(/\/operator\/events\?actor=token%3A/)
      assert.deepEqual([...problems, ...guest.troubles], [])
      assert.ok(height <= 720, `the dialog is ${height} px high`)
      await guest.close()
    },
  )

  test(
    `16 (${name}): an operator sees only what the role opens, and gets another role by picking`,
    { skip },
    async () => {
      const helper = await signUp(tollgate, `helper-${language}-${dark}@example.com`)
      const found = await tollgate.admin('GET', `/admin/v1/users?account=${helper.accountId}`)
      const { id } = found.body.data[0]
      const signedInAs = async (role: OperatorRole): Promise<Customer> => {
        await tollgate.admin('PATCH', `/admin/v1/users/${id}`, { operator_role: role })
        const signed = await tollgate.request('POST', '/cabinet/v1/sign-in', {
          body: { email: helper.email, password: 'a gate with seven hinges' },
          headers: { origin: tollgate.url },
        })
        return { ...helper, cookie: (signed.headers['set-cookie'] ?? '').split(';')[0] ?? '' }
      }
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, await signedInAs('billing'))
      await page.goto(`${tollgate.url}/operator/accounts/${owner.accountId}?tab=money`)
      await guest.settled()
      const pages = page.getByRole('navigation', { name: t('shell.navigation') })
      assert.deepEqual(
        [
          await pages.getByRole('link', { name: t('nav.accounts') }).count(),
          await pages.getByRole('link', { name: t('nav.providers') }).count(),
          await pages.getByRole('link', { name: t('nav.tokens') }).count(),
        ],
        [1, 0, 0],
      )
      await page.getByRole('button', { name: t('accounts.do_topup'), exact: true }).waitFor()
      assert.equal(await page.getByRole('button', { name: t('accounts.do_locked') }).count(), 0)
      await guest.follow('/operator/providers')
      await page.getByText(t('operator.not_for_role', { role: t('role.billing') })).waitFor()
      for (const path of ['/operator', '/operator/requests', '/operator/codes', '/operator/margin']) {
        await guest.follow(path)
        await guest.settled()
        for (const title of ['failure.title', 'failure.refused'])
          assert.equal(await page.getByText(t(title)).count(), 0, path)
      }
      assert.deepEqual([...(await seriousFindings(page)), ...guest.troubles], [])
      await guest.close()

      const root = await visitor(browser, tollgate.url, { language, dark })
      await enter(root.context, tollgate, owner)
      await root.page.goto(`${tollgate.url}/operator/users`)
      await root.page.getByRole('button', { name: t('keys.actions_of', { name: helper.email }) }).click()
      await root.page.getByRole('menuitem', { name: t('users.make', { role: t('role.support') }) }).click()
      const changed = root.page.waitForResponse((response) => response.request().method() === 'PATCH')
      await root.page
        .getByRole('dialog')
        .getByRole('button', { name: t('users.do_role') })
        .click()
      assert.equal((await changed).status(), 200)
      await root.page.getByRole('row', { name: new RegExp(`${helper.email}.*${t('role.support')}`) }).waitFor()
      assert.deepEqual([...(await seriousFindings(root.page)), ...root.troubles], [])
      await root.close()
    },
  )
}
