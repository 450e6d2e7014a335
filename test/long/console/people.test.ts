import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seriousFindings, englishTexts } from '../../harness/page-findings.ts'
import { LOOKS, visitor } from '../../harness/browser.ts'
import {
  enter,
  makeKey,
  PASSWORD,
  signUp,
  texts,
  serveConsole,
  tollgate,
  browser,
} from '../../harness/console-world.ts'

const skip = await serveConsole()

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const name = `${language}-${dark ? 'dark' : 'light'}`

  test(
    `17 (${name}): an owner invites a person by link, the person works within the limit, and is removed`,
    { skip },
    async () => {
      const owner = await signUp(tollgate, `owner-${name}@example.com`)
      const guest = await visitor(browser, tollgate.url, { language, dark, height: 720 })
      const { page } = guest
      const problems: string[] = []
      const look = async (): Promise<void> => {
        const english = language === 'ru' ? await englishTexts(page) : []
        problems.push(...(await seriousFindings(page)), ...english)
      }
      await enter(guest.context, tollgate, owner)
      await page.goto(`${tollgate.url}/people`)
      await page.getByText(`${owner.email} (${t('people.you')})`).waitFor()
      await page.getByRole('button', { name: t('people.invite') }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('radio', { name: t('people.owner') }).check()
      await dialog.getByLabel(t('security.current')).waitFor()
      await look()
      await dialog.getByRole('radio', { name: t('people.member') }).check()
      await dialog.getByLabel(t('people.limit')).fill('50')
      await dialog.getByRole('button', { name: t('people.make_link') }).click()
      const link = await dialog.locator('code').first().innerText()
      assert.ok(link.startsWith(`${tollgate.url}/join?token=`), link)
      await look()
      await dialog.getByRole('button', { name: t('people.kept') }).click()
      await page.getByRole('button', { name: t('people.revoke_of', { email: t('people.anyone') }) }).waitFor()
      await look()

      const other = await visitor(browser, tollgate.url, { language, dark, width: 390 })
      const email = `ben-${name}@example.com`
      await other.page.goto(link)
      await other.page.getByRole('heading', { level: 1, name: t('people.join_title', { name: 'Ann Lee' }) }).waitFor()
      await other.page.getByLabel(t('entry.email')).fill(email)
      await other.page.getByRole('textbox', { name: t('entry.password') }).fill(PASSWORD)
      problems.push(...(await seriousFindings(other.page)))
      await other.page.getByRole('button', { name: t('people.join'), exact: true }).click()
      await other.page.getByRole('heading', { level: 1, name: t('nav.home') }).waitFor()
      await other.page.getByRole('button', { name: t('shell.menu') }).click()
      const pages = other.page.getByRole('dialog').getByRole('navigation')
      await pages.getByRole('link', { name: t('nav.keys') }).waitFor()
      assert.equal(await pages.getByRole('link', { name: t('nav.top_up') }).count(), 0)
      await pages.getByRole('link', { name: t('nav.keys') }).click()
      await other.page
        .getByRole('button', { name: t('keys.create') })
        .first()
        .click()
      const form = other.page.getByRole('dialog')
      await form.locator('input[data-autofocus]').fill('laptop')
      assert.equal(await form.getByLabel(t('keys.reset')).first().inputValue(), t('keys.reset_monthly'))
      await form.getByRole('textbox', { name: t('keys.amount') }).fill('60')
      await form.getByRole('button', { name: t('keys.create') }).click()
      await form.getByText(t('check.member_limit', { most: '50' })).waitFor()
      problems.push(...(await seriousFindings(other.page)))
      await form.getByRole('textbox', { name: t('keys.amount') }).fill('20')
      await form.getByRole('button', { name: t('keys.create') }).click()
      await form.getByRole('button', { name: t('keys.kept') }).click()
      assert.deepEqual(other.troubles, [])

      await makeKey(tollgate, owner, { name: 'backend' })
      await page.goto(`${tollgate.url}/keys`)
      await page.getByRole('cell', { name: owner.email }).waitFor()
      await page.getByRole('columnheader', { name: t('keys.made_by') }).waitFor()
      await look()
      await guest.follow('/people')
      await page
        .getByRole('row', { name: new RegExp(email) })
        .getByRole('link')
        .click()
      await page.getByRole('row', { name: /laptop/ }).waitFor()
      assert.equal(await page.getByText('backend').count(), 0)
      await page.goto(`${tollgate.url}/people`)
      await page.getByRole('button', { name: t('people.actions_of', { email }) }).click()
      await page.getByRole('menuitem', { name: t('people.change') }).click()
      const changing = page.getByRole('dialog')
      await changing.getByRole('radio', { name: t('people.billing') }).check()
      await changing.getByRole('button', { name: t('common.save') }).click()
      await page.getByRole('row', { name: new RegExp(`${email}.*${t('people.billing')}`) }).waitFor()
      await page.getByRole('button', { name: t('people.actions_of', { email }) }).click()
      await page.getByRole('menuitem', { name: t('people.remove') }).click()
      await look()
      const gone = page.getByRole('row', { name: new RegExp(email) }).waitFor({ state: 'detached' })
      await page
        .getByRole('dialog')
        .getByRole('button', { name: t('people.remove_act'), exact: true })
        .click()
      await gone
      await other.page.goto(`${tollgate.url}/keys`)
      await other.page.waitForURL(/\/sign-in/)
      assert.deepEqual([...problems, ...guest.troubles], [])
      await other.close()
      await guest.close()
    },
  )
}

test('17: a person of two accounts goes from one to the other in the menu', { skip }, async () => {
  const t = texts('en')
  const owner = await signUp(tollgate, 'two-owner@example.com', { name: 'Northgate', balance: 77 })
  const person = await signUp(tollgate, 'two@example.com', { name: 'Ben', balance: 11 })
  const made = await tollgate.request('POST', '/cabinet/v1/invitations', {
    body: { role: 'billing' },
    headers: owner.headers,
  })
  const guest = await visitor(browser, tollgate.url, { language: 'en' })
  const { page } = guest
  await enter(guest.context, tollgate, person)
  await page.goto(String(made.body.link))
  await page.getByRole('button', { name: t('people.join_as', { email: person.email }) }).click()
  const balance = page.locator('header').getByRole('link', { name: /₽/ })
  await balance.filter({ hasText: '77' }).waitFor()
  assert.equal(await page.getByRole('link', { name: t('nav.playground') }).count(), 0)
  await guest.follow('/keys')
  await page.getByRole('heading', { level: 1, name: t('nav.keys') }).waitFor()
  assert.equal(await page.getByRole('button', { name: t('keys.create') }).count(), 0)
  await page.getByRole('button', { name: /^B · / }).click()
  await page.getByRole('menuitem', { name: t('shell.go_to', { name: 'Ben' }) }).click()
  await balance.filter({ hasText: '11' }).waitFor()
  assert.deepEqual(guest.troubles, [])
  await guest.close()
})
