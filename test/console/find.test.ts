import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { LOOKS, visitor } from '../harness/browser.ts'
import { browser, enter, makeKey, promote, serveConsole, signUp, texts, tollgate } from '../harness/console-world.ts'
import { findings } from '../harness/page-findings.ts'
import { until } from '../harness/patience.ts'

/** The search finds pages, actions, names and ids with the keyboard alone, for each side and in each language. */

const skip = await serveConsole()

/** Types into the search, and opens what it shows first. */
async function find(page: Page, words: string, ends: RegExp): Promise<void> {
  await page.locator('[aria-keyshortcuts]').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').and(page.locator('[data-autofocus]')).waitFor()
  await page.keyboard.insertText(words)
  await page.keyboard.press('Enter')
  await page.locator('[data-dialog=find]').getByRole('dialog').waitFor({ state: 'hidden' })
  await page.waitForURL(ends)
}

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const look = `${language}${dark ? 'd' : 'l'}`

  test(`the search (${language}, ${dark ? 'dark' : 'light'})`, { skip }, async () => {
    const customer = await signUp(tollgate, `find-${look}@example.com`)
    await tollgate.admin('PATCH', `/admin/v1/accounts/${customer.accountId}`, { name: `ООО «Ромашка ${look}»` })
    const { key, id: keyId } = await makeKey(tollgate, customer, { name: `Прод-сайт ${look}` })
    const headers = { 'x-request-id': `req-${look}-refused` }
    await tollgate.request('POST', '/v1/chat/completions', {
      key,
      headers,
      body: { model: 'sandbox/none', messages: [{ role: 'user', content: 'Hello' }] },
    })
    await until(
      20_000,
      'the refusal',
      async () => (await tollgate.admin('GET', `/admin/v1/refusals?account=${customer.accountId}`)).body.total === 1,
    )
    const guest = await visitor(browser, tollgate.url, { language, dark })
    await enter(guest.context, tollgate, customer)
    await guest.page.goto(`${tollgate.url}/settings`)
    const problems: unknown[] = []
    for (const [words, ends] of [
      ['sandbox/embed', /\/model\/sandbox/],
      [t('nav.usage').toUpperCase(), /\/usage/],
      ['top up', /\/top-up/],
      [t('find.do.create_key'), /\/keys\?create=1/],
      ['сайт прод', new RegExp(`/keys\\?search=${keyId}`)],
      [`req-${look}-refused`, new RegExp(`/log/refused\\?request_id=req-${look}-refused`)],
    ] as const)
      await find(guest.page, words, ends)
    await guest.page.keyboard.press('Control+k')
    await guest.page.keyboard.insertText('zzzz')
    await guest.page.getByText(t('find.none', { text: 'zzzz' })).waitFor()
    problems.push(...(await findings(guest.page, language)), ...guest.troubles)
    await guest.close()

    const operator = await promote(tollgate, await signUp(tollgate, `find-operator-${look}@example.com`))
    const office = await visitor(browser, tollgate.url, { language, dark })
    await enter(office.context, tollgate, operator)
    await office.page.goto(`${tollgate.url}/operator/settings`)
    const account = new RegExp(`/operator/accounts/${customer.accountId}`)
    for (const [words, ends] of [
      [`ромашка ${look}`, account],
      [customer.accountId, account],
      [keyId, account],
      [`прод ${look}`, account],
      [`req-${look}-refused`, /\/operator\/refusals/],
      [t('find.do.connect'), /\/operator\/providers\/connect/],
    ] as const)
      await find(office.page, words, ends)
    problems.push(...office.troubles)
    await office.close()
    assert.deepEqual(problems, [])
  })
}
