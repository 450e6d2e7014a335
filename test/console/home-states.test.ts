import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOOKS, visitor } from '../harness/browser.ts'
import {
  browser,
  chat,
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

/** The first pages say of each state what the data says: no calm text stands over a call that was refused. */

const skip = await serveConsole()

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const look = `${language}, ${dark ? 'dark' : 'light'}`

  test(`money, limits and refusals are never called well (${look})`, { skip }, async () => {
    const poor = await signUp(tollgate, `poor-${language}@example.com`, { balance: 0, name: 'Poor' })
    const { key: broke } = await makeKey(tollgate, poor, { name: 'Broke' })
    assert.equal((await chat(tollgate, broke, 'Hello')).status, 402)
    const rich = await signUp(tollgate, `rich-${language}@example.com`)
    const { key: small } = await makeKey(tollgate, rich, { name: 'Small', limit: 0.000001 })
    assert.equal((await chat(tollgate, small, 'Hello')).status, 429)
    await until(20_000, 'both refusals', async () => {
      const totals = [poor, rich].map(async ({ accountId }) => {
        const { body } = await tollgate.admin('GET', `/admin/v1/refusals?account=${accountId}`)
        return body.total === 1
      })
      return (await Promise.all(totals)).every(Boolean)
    })
    const problems: string[] = []
    const guest = await visitor(browser, tollgate.url, { language, dark })
    const { page } = guest
    await enter(guest.context, tollgate, rich)
    await page.goto(tollgate.url)
    const watched = page.getByRole('table', { name: t('home.near_limit') })
    await watched.getByRole('row').filter({ hasText: 'Small' }).waitFor()
    const { key } = await makeKey(tollgate, rich, { name: 'Used' })
    assert.equal((await chat(tollgate, key, 'Hello')).status, 200)
    await page.reload()
    await page.getByText(t('home.no_money')).waitFor({ state: 'detached' })
    await tollgate.admin('POST', `/admin/v1/accounts/${rich.accountId}/ledger`, {
      kind: 'adjustment',
      amount: -(await tollgate.admin('GET', `/admin/v1/accounts/${rich.accountId}`)).body.available,
      reason: 'moved',
      reference: `moved-${rich.accountId}`,
    })
    await page.reload()
    await page.getByText(t('home.no_money')).waitFor()
    problems.push(...(await findings(page, language)), ...guest.troubles)
    await guest.close()

    const office = await visitor(browser, tollgate.url, { language, dark })
    const operator = await promote(tollgate, await signUp(tollgate, `root-${language}@example.com`, { balance: 0 }))
    await enter(office.context, tollgate, operator)
    await office.page.goto(`${tollgate.url}/operator`)
    const low = office.page.getByRole('table', { name: t('overview.low_title') })
    await low.locator(`a[href="/operator/accounts/${poor.accountId}"]`).waitFor()
    await office.page.getByText(textPattern(language, 'overview.refused')).waitFor()
    assert.equal(await office.page.getByText(t('overview.nothing')).count(), 0)
    problems.push(...(await findings(office.page, language)))
    // Few entries, the rest below them; what happened is a sentence with names, links and what changed.
    const entries = office.page.getByRole('navigation', { name: t('shell.navigation') }).getByRole('link')
    assert.ok((await entries.count()) <= 10, `${await entries.count()} entries`)
    await office.page.getByText(t('nav.more'), { exact: true }).click()
    await tollgate.admin('PATCH', `/admin/v1/accounts/${poor.accountId}`, { name: `Renamed-${language}` })
    await office.page.getByRole('link', { name: t('nav.events') }).click()
    const sentence = office.page.getByRole('row').filter({ hasText: t('action.account_update') })
    await sentence
      .getByRole('link', { name: `Renamed-${language}` })
      .first()
      .waitFor()
    assert.match(await sentence.first().innerText(), new RegExp(`Poor.* → Renamed-${language}`))
    problems.push(...(await findings(office.page, language)), ...office.troubles)
    await office.close()
    assert.deepEqual(problems, [])
  })
}
