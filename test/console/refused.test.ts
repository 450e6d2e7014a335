import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOOKS, visitor } from '../harness/browser.ts'
import {
  browser,
  enter,
  makeKey,
  promote,
  serveConsole,
  signUp,
  texts,
  textPattern,
  tollgate,
} from '../harness/console-world.ts'
import { findings } from '../harness/page-findings.ts'
import { until } from '../harness/patience.ts'

/** Why a call failed is at most two clicks from the first page of its customer, and of the operator. */

const skip = await serveConsole()

for (const { language, dark } of LOOKS) {
  const t = texts(language)

  test(`why a call was refused, and what helps (${language}, ${dark ? 'dark' : 'light'})`, { skip }, async () => {
    const customer = await signUp(tollgate, `refused-${language}-${dark}@example.com`)
    const { key } = await makeKey(tollgate, customer, { name: 'Staging', limit: 0.000001 })
    const requestId = `req-${language}-${dark}`
    const ask = (model: string, id: string): Promise<unknown> =>
      tollgate.request('POST', '/v1/chat/completions', {
        key,
        headers: { 'x-request-id': id },
        body: { model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
      })
    await ask('sandbox/chat', requestId)
    await ask('sandbox/none', `${requestId}-none`)
    await until(20_000, 'both refusals', async () => {
      const { body } = await tollgate.admin('GET', `/admin/v1/refusals?account=${customer.accountId}`)
      return body.total === 2
    })
    const guest = await visitor(browser, tollgate.url, { language, dark })
    const { page } = guest
    await enter(guest.context, tollgate, customer)
    await page.goto(tollgate.url)
    const today = page.getByRole('table', { name: t('refused.today') })
    await today
      .getByRole('row')
      .filter({ hasText: 'Staging' })
      .filter({ hasText: t('error.limit_exceeded') })
      .waitFor()
    const problems = [...(await findings(page, language))]
    await page.getByRole('link', { name: t('refused.all') }).click()
    await page.waitForURL(`${tollgate.url}/log/refused`)
    const unknown = page.getByRole('row').filter({ hasText: 'sandbox/none' })
    await unknown.getByRole('link', { name: t('refused.help.models') }).waitFor()
    problems.push(...(await findings(page, language)))
    const cause = page.getByRole('combobox', { name: t('refused.why') })
    for (const type of ['limit_exceeded', 'model_not_found']) {
      // What is typed replaces the cause that was chosen before.
      await cause.click()
      await page.keyboard.type(t(`error.${type}`))
      await page.getByRole('option', { name: t(`error.${type}`), exact: true }).click()
      await page.waitForURL(new RegExp(`error_type=${type}`))
    }
    await guest.follow(`/log?id=${requestId}`)
    await page.getByRole('link', { name: textPattern(language, 'refused.found') }).waitFor()
    await page.getByRole('link', { name: textPattern(language, 'refused.found') }).click()
    await page.waitForURL(`${tollgate.url}/log/refused?request_id=${requestId}`)
    await page.getByRole('cell', { name: requestId }).waitFor()
    assert.equal(await page.getByRole('table').getByRole('row').count(), 2)
    problems.push(...guest.troubles)
    await guest.close()

    const operator = await promote(tollgate, await signUp(tollgate, `operator-${language}-${dark}@example.com`))
    const office = await visitor(browser, tollgate.url, { language, dark })
    await enter(office.context, tollgate, operator)
    await office.page.goto(`${tollgate.url}/operator`)
    const account = office.page.locator(`a[href="/operator/accounts/${customer.accountId}"]`)
    await office.page
      .getByRole('table', { name: t('refused.day') })
      .locator(account)
      .first()
      .waitFor()
    await office.page.getByRole('link', { name: t('refused.all') }).click()
    await office.page.waitForURL(`${tollgate.url}/operator/refusals`)
    await account.first().waitFor()
    problems.push(...(await findings(office.page, language)), ...office.troubles)
    await office.close()
    assert.deepEqual(problems, [])
  })
}

test(
  'the days of every log are chosen, stay in its address, and a log of other days says what to change',
  { skip },
  async () => {
    const t = texts('en')
    const owner = await promote(tollgate, await signUp(tollgate, 'days@example.com'))
    const { accountId } = owner
    await tollgate.admin('PUT', `/admin/v1/accounts/${accountId}/topups/days`, { amount: 1, reason: 'days' })
    const { key } = await makeKey(tollgate, owner, { name: 'Days' })
    await tollgate.request('POST', '/v1/chat/completions', { key, body: { model: 'sandbox/none', messages: [] } })
    await until(20_000, 'the refusal', async () => {
      const { body } = await tollgate.admin('GET', `/admin/v1/refusals?account=${accountId}`)
      return body.total > 0
    })
    const guest = await visitor(browser, tollgate.url, { language: 'en', dark: false })
    const { page } = guest
    await enter(guest.context, tollgate, owner)
    await page.goto(tollgate.url)
    for (const path of [
      '/ledger',
      '/log/refused',
      '/operator/refusals',
      '/operator/events',
      `/operator/accounts/${accountId}?tab=money`,
    ]) {
      await guest.follow(path)
      const rows = page.getByRole('table').getByRole('row')
      await rows.nth(1).waitFor()
      await page.getByRole('combobox', { name: t('range.period') }).click()
      await page.getByRole('option', { name: t('range.days_7') }).click()
      await page.waitForURL(/range=days_7/)
      await rows.nth(1).waitFor()
      await page.goto(`${tollgate.url}${path}${path.includes('?') ? '&' : '?'}from=2020-01-01&to=2020-01-02`)
      await page.getByText(t('list.none_so')).waitFor()
      assert.equal(await page.getByRole('textbox', { name: t('range.from') }).inputValue(), '01/01/2020', path)
    }
    assert.deepEqual(guest.troubles, [])
    await guest.close()
  },
)
