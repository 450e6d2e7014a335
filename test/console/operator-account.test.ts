import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOOKS, visitor } from '../harness/browser.ts'
import {
  browser,
  chat,
  enter,
  makeKey,
  PASSWORD,
  promote,
  serveConsole,
  signUp,
  texts,
  tollgate,
} from '../harness/console-world.ts'
import { findings } from '../harness/page-findings.ts'
import { until } from '../harness/patience.ts'

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

  test(
    `a note on an account is seen on its first tab, and deleted by who wrote it or an owner (${look})`,
    { skip },
    async () => {
      const customer = await signUp(tollgate, `noted-${look}@example.com`, { name: 'Ann Lee' })
      const notes = `/admin/v1/accounts/${customer.accountId}/notes`
      await tollgate.admin('POST', notes, { text: 'Звонок в понедельник' })
      const operator = await promote(tollgate, await signUp(tollgate, `noter-${look}@example.com`), 'support')
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, operator)
      await page.goto(`${tollgate.url}/operator/accounts/${customer.accountId}`)
      await page.getByRole('link', { name: 'Звонок в понедельник' }).click()
      const list = page.getByRole('table', { name: t('notes.title') }).getByRole('row')
      await list.nth(1).waitFor()
      assert.equal(await page.getByRole('button', { name: t('common.delete') }).count(), 0, "another's note")
      await page.getByRole('textbox', { name: t('notes.text') }).fill('Платит по счёту.\nСначала спросить.')
      const problems = [...(await findings(page, language))]
      await page.getByRole('button', { name: t('notes.add') }).click()
      await list.filter({ hasText: 'Платит по счёту.' }).filter({ hasText: operator.email }).waitFor()
      assert.equal(await page.getByRole('textbox', { name: t('notes.text') }).inputValue(), '')
      problems.push(...(await findings(page, language)))
      await page.getByRole('button', { name: t('common.delete') }).click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: t('common.delete') })
        .click()
      await list.filter({ hasText: 'Платит по счёту.' }).waitFor({ state: 'detached' })
      const owner = await promote(tollgate, await signUp(tollgate, `note-owner-${look}@example.com`))
      await enter(guest.context, tollgate, owner)
      await page.reload()
      await page.getByRole('button', { name: t('common.delete') }).click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: t('common.delete') })
        .click()
      await page.getByText(t('notes.none')).waitFor()
      assert.equal((await tollgate.admin('GET', notes)).body.total, 0)
      for (const { email } of [operator, owner]) {
        await page.goto(`${tollgate.url}/operator/events?actor=${email}`)
        await page.getByText(t('action.account_note_delete')).first().waitFor()
      }
      await guest.close()
      assert.deepEqual([...problems, ...guest.troubles], [])
    },
  )

  test(`each entry of a ledger leads to what it is for, and charges can be left out (${look})`, { skip }, async () => {
    const customer = await signUp(tollgate, `ledger-${look}@example.com`, { name: 'Ann Lee' })
    const { key } = await makeKey(tollgate, customer, { name: 'Production' })
    const { headers } = await chat(tollgate, key, 'Hello')
    const charge = headers['x-generation-id'] ?? ''
    const [code] = (await tollgate.admin('POST', '/admin/v1/codes', { amount: 7 })).body.data
    const redeemed = await tollgate.request('POST', '/cabinet/v1/codes/redeem', {
      body: { code: code.code },
      headers: customer.headers,
    })
    assert.equal(redeemed.status, 200, redeemed.text)
    const operator = await promote(tollgate, await signUp(tollgate, `books-of-${look}@example.com`))
    const guest = await visitor(browser, tollgate.url, { language, dark })
    const { page } = guest
    const problems: string[] = []
    const ledger = page.getByRole('table', { name: t('nav.ledger') })
    const place = `/operator/accounts/${customer.accountId}?tab=money`
    for (const [who, path, request] of [
      [customer, '/ledger', `/log/${charge}`],
      [operator, place, `/operator/requests?request=${charge}`],
    ] as const) {
      await enter(guest.context, tollgate, who)
      await page.goto(`${tollgate.url}${path}`)
      await ledger.getByRole('link', { name: charge }).waitFor()
      assert.equal(await ledger.getByRole('link', { name: charge }).getAttribute('href'), request)
      assert.equal(await ledger.getByRole('link', { name: code.id }).count(), who === operator ? 1 : 0)
      // The control's own labels, since it has a radio for each.
      await page.getByText(t('ledger.money'), { exact: true }).click()
      await ledger.getByRole('link', { name: charge }).waitFor({ state: 'detached' })
      assert.equal(await ledger.getByRole('row').count(), 3, 'the head, the top-up and the code')
      problems.push(...(await findings(page, language)))
    }
    await ledger.getByRole('link', { name: code.id }).click()
    await page.waitForURL(`${tollgate.url}/operator/codes?id=${code.id}`)
    const codes = page.getByRole('table', { name: t('nav.codes') }).getByRole('row')
    await codes.nth(1).waitFor()
    assert.equal(await codes.count(), 2)
    await guest.close()
    assert.deepEqual([...problems, ...guest.troubles], [])
  })

  test(
    `what moves money says from whom to whom, and both balances, before its button (${look})`,
    { skip },
    async () => {
      const customer = await signUp(tollgate, `moved-${look}@example.com`, { balance: 500 })
      const operator = await promote(tollgate, await signUp(tollgate, `mover-${look}@example.com`))
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, operator)
      await page.goto(`${tollgate.url}/operator/accounts/${customer.accountId}?tab=money`)
      const form = page.locator('form').filter({ has: page.getByLabel(t('accounts.action')) })
      const account = t('accounts.balance_of', { name: 'Ann Lee', id: customer.accountId })
      const problems: string[] = []
      for (const [action, from, to, after] of [
        ['topup', t('accounts.customer_paid'), account, 542.5],
        ['refund', account, t('accounts.customer_gets'), 457.5],
        ['credit', t('accounts.business'), account, 542.5],
        ['write_off', account, t('accounts.business'), 457.5],
      ] as const) {
        await form.getByRole('combobox', { name: t('accounts.action') }).click()
        await page.getByRole('option', { name: t(`accounts.do_${action}`), exact: true }).click()
        await form.getByLabel(t('money.amount')).fill('42.5')
        const told = await form.getByRole('status').innerText()
        const plain = told.replaceAll(/[\s\u00a0\u202f]+/g, ' ').replaceAll(/(\d),(\d)/g, '$1.$2')
        const [source, target] = [plain.indexOf(from), plain.lastIndexOf(to)]
        assert.ok(source !== -1 && source < target, `${action}: ${plain} says from ${from} to ${to}`)
        for (const figure of ['42.50', '500.00', after.toFixed(2)])
          assert.ok(plain.includes(figure), `${plain}: ${figure}`)
        await form.getByRole('button', { name: t(`accounts.do_${action}`), exact: true }).waitFor()
        problems.push(...(await findings(page, language)))
      }
      await guest.close()
      assert.deepEqual([...problems, ...guest.troubles], [])
    },
  )

  test(
    `an operator limits, replaces and disables a key of a customer, and takes it back (${look})`,
    { skip },
    async () => {
      const customer = await signUp(tollgate, `keys-${look}@example.com`, { balance: 500 })
      const { id, key } = await makeKey(tollgate, customer, { name: 'Тест', limit: 20 })
      for (const word of ['one', 'two']) await chat(tollgate, key, word, {}, { model: 'sandbox/none' })
      const refused = async (): Promise<boolean> => {
        const { body } = await tollgate.admin('GET', `/admin/v1/accounts/${customer.accountId}/keys`)
        return body.data[0].refused_today === 2
      }
      await until(20_000, 'both refusals', refused)
      const operator = await promote(tollgate, await signUp(tollgate, `locksmith-${look}@example.com`))
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, operator)
      await page.goto(`${tollgate.url}/operator/accounts/${customer.accountId}?tab=keys`)
      const row = page
        .getByRole('table', { name: t('nav.keys') })
        .getByRole('row')
        .filter({ hasText: 'Тест' })
      const refusals = row.getByRole('link', { name: '2' })
      assert.equal(await refusals.getAttribute('href'), `/operator/refusals?account=${customer.accountId}&key=${id}`)
      const act = async (entry: string): Promise<void> => {
        await row.getByRole('button', { name: t('keys.actions_of', { name: 'Тест' }) }).click()
        await page.getByRole('menuitem', { name: t(entry), exact: true }).click()
      }
      const stored = async (): Promise<{ readonly limit: number; readonly disabled: boolean }> =>
        (await tollgate.admin('GET', `/admin/v1/keys/${id}`)).body
      const problems = [...(await findings(page, language))]
      const dialog = page.getByRole('dialog')
      await act('common.edit')
      await dialog.getByRole('textbox', { name: t('keys.amount') }).fill('35')
      await dialog.getByRole('button', { name: t('common.save') }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.equal((await stored()).limit, 35)
      await act('keys.disable')
      const undo = page.getByRole('button', { name: t('common.undo') })
      await undo.waitFor()
      assert.equal((await stored()).disabled, true)
      problems.push(...(await findings(page, language)))
      await undo.click()
      await page.getByText(t('keys.now_enabled', { name: 'Тест' })).waitFor()
      assert.equal((await stored()).disabled, false)
      await act('keys.rotate')
      await dialog.getByRole('button', { name: t('keys.rotate_act') }).click()
      const fresh = await dialog.locator('code').first().innerText()
      assert.equal((await chat(tollgate, fresh, 'Hello')).status, 200)
      assert.equal((await chat(tollgate, key, 'Hello')).status, 200, 'the old secret works on for a day')
      await guest.close()
      assert.deepEqual([...problems, ...guest.troubles], [])
    },
  )

  test(
    `an account opens with its month, its latest and its people, and can be closed there (${look})`,
    { skip },
    async () => {
      const customer = await signUp(tollgate, `month-${look}@example.com`, { balance: 500 })
      const { key } = await makeKey(tollgate, customer, { name: 'Тест' })
      const { headers } = await chat(tollgate, key, 'Hello')
      await chat(tollgate, key, 'Hello', {}, { model: 'sandbox/none' })
      await until(20_000, 'the refusal', async () => {
        const { body } = await tollgate.admin('GET', `/admin/v1/refusals?account=${customer.accountId}`)
        return body.total === 1
      })
      const [spent] = (await tollgate.admin('GET', `/admin/v1/usage?group_by=day&account=${customer.accountId}`)).body
        .data
      assert.equal(spent.requests, 1, 'the sums are those of this account')
      const operator = await promote(tollgate, await signUp(tollgate, `keeper-${look}@example.com`))
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, operator)
      await page.goto(`${tollgate.url}/operator/accounts/${customer.accountId}`)
      for (const tile of ['home.month', 'accounts.margin', 'accounts.lasts'])
        await page.getByText(t(tile)).first().waitFor()
      const charge = headers['x-generation-id'] ?? ''
      await page.locator(`a[href="/operator/requests?request=${charge}"]`).waitFor()
      await page
        .getByRole('table', { name: t('accounts.last_refusals') })
        .getByText('sandbox/none')
        .first()
        .waitFor()
      await page.getByRole('link', { name: `${customer.email} (${t('people.owner')})` }).waitFor()
      await page.getByRole('button', { name: t('accounts.do_deactivated') }).waitFor()
      // The header is about the business: the operator's own account has nothing to do with it.
      await page.locator('header a[href="/operator/margin"]').waitFor()
      assert.equal(await page.locator('header a[href="/top-up"]').count(), 0)
      const problems = await findings(page, language)
      await guest.close()
      assert.deepEqual([...problems, ...guest.troubles], [])
    },
  )

  test(
    `a charge is given back from its request, and explained in the language of its customer (${look})`,
    { skip },
    async () => {
      const other = language === 'en' ? 'ru' : 'en'
      const theirs = texts(other)
      const customer = await signUp(tollgate, `given-${look}@example.com`, { balance: 500 })
      await tollgate.request('PATCH', '/cabinet/v1/profile', { body: { language: other }, headers: customer.headers })
      const { key } = await makeKey(tollgate, customer, { name: 'Тест' })
      const charge = (await chat(tollgate, key, 'Hello')).headers['x-generation-id'] ?? ''
      const operator = await promote(tollgate, await signUp(tollgate, `giver-${look}@example.com`))
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, operator)
      await page.goto(`${tollgate.url}/operator/requests?request=${charge}`)
      await page.getByRole('button', { name: t('letter.open') }).click()
      const letter = page.getByRole('region', { name: t('letter.open') })
      await letter.getByText(theirs('letter.hello')).waitFor()
      assert.ok((await letter.innerText()).includes(charge))
      await page.keyboard.press('Escape')
      await letter.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: t('credit.open') }).click()
      const dialog = page.locator('[data-dialog=credit]')
      await dialog.getByLabel(t('ledger.reason')).fill('Сбой')
      const problems = await findings(page, language)
      await dialog.getByRole('button', { name: t('accounts.do_credit'), exact: true }).click()
      await page.getByText(t('request.remains')).waitFor()
      assert.equal(await page.getByRole('button', { name: t('credit.open') }).count(), 0, 'once')
      const { body } = await tollgate.admin('GET', `/admin/v1/accounts/${customer.accountId}`)
      assert.equal(body.balance, 500)
      await enter(guest.context, tollgate, customer)
      await page.goto(`${tollgate.url}/log/${charge}`)
      await page.getByText(theirs('request.remains')).waitFor()
      await guest.close()
      assert.deepEqual([...problems, ...guest.troubles], [])
    },
  )
}
