import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOOKS, visitor } from '../harness/browser.ts'
import { browser, enter, PASSWORD, promote, serveConsole, signUp, texts, tollgate } from '../harness/console-world.ts'
import { findings } from '../harness/page-findings.ts'

/** What an operator sees of a customer, and does for them, on the page of the account. */

const skip = await serveConsole()

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const look = `${language}-${dark ? 'dark' : 'light'}`

  test(`an operator gives a person access to an account that they made (${look})`, { skip }, async () => {
    const operator = await promote(tollgate, await signUp(tollgate, `operator-${look}@example.com`))
    const email = `books-${look}@example.com`
    const guest = await visitor(browser, tollgate.url, { language, dark })
    const { page } = guest
    await enter(guest.context, tollgate, operator)
    await page.goto(`${tollgate.url}/operator/accounts`)
    await page.getByRole('button', { name: t('accounts.create') }).click()
    const making = page.getByRole('dialog')
    await making.getByLabel(t('keys.name')).fill(`Фонарь-${look}`)
    await making.getByLabel(t('entry.email')).fill(email)
    await making.getByRole('button', { name: t('accounts.create') }).click()
    await page.getByRole('heading', { level: 1, name: `Фонарь-${look}` }).waitFor()
    await page.getByText(email).first().waitFor()
    await page.getByRole('tab', { name: t('nav.people') }).click()
    await page.getByText(t('access.none_yet', { email })).waitFor()
    const problems = [...(await findings(page, language))]
    await page.getByRole('button', { name: t('people.invite') }).click()
    const dialog = page.getByRole('dialog')
    assert.equal(await dialog.getByLabel(t('entry.email')).inputValue(), email, 'the typed address is offered')
    assert.ok(await dialog.getByRole('radio', { name: t('people.owner') }).isChecked())
    await dialog.getByRole('button', { name: t('people.make_link') }).click()
    const link = await dialog.locator('code').first().innerText()
    assert.ok(link.startsWith(`${tollgate.url}/join?token=`), link)
    await dialog.getByRole('button', { name: t('people.kept') }).click()
    await page.getByRole('button', { name: t('people.revoke_of', { email }) }).waitFor()
    problems.push(...(await findings(page, language)))
    const joined = await tollgate.request('POST', '/cabinet/v1/invitations/join', {
      body: { token: new URL(link).searchParams.get('token'), password: PASSWORD },
      headers: { origin: tollgate.url },
    })
    assert.equal(joined.status, 201, joined.text)
    assert.equal(joined.body.profile.account_role, 'owner')
    await page.reload()
    const people = page.getByRole('table', { name: t('nav.people') })
    await people
      .getByRole('row')
      .filter({ hasText: email })
      .filter({ hasText: t('people.owner') })
      .waitFor()
    await guest.close()
    assert.deepEqual([...problems, ...guest.troubles], [])
  })
}
