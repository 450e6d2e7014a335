import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findings, seriousFindings } from '../harness/page-findings.ts'
import { LOOKS, visitor } from '../harness/browser.ts'
import {
  chat,
  enter,
  makeKey,
  promote,
  signUp,
  texts,
  serveConsole,
  tollgate,
  browser,
} from '../harness/console-world.ts'

const skip = await serveConsole()

const customer = await signUp(tollgate, 'ann@example.com')
const { key } = await makeKey(tollgate, customer, { name: 'backend' })
const generation = (await chat(tollgate, key, 'Hello', { 'x-title': 'Notes' })).headers['x-generation-id'] ?? ''
await chat(tollgate, key, 'Hello again')
const USER = '№ 42'
const named = await tollgate.post('/v1/chat/completions', key, {
  model: 'sandbox/chat',
  messages: [{ role: 'user', content: 'Hello' }],
  user: USER,
})
/** The ids of requests that a provider answered with these statuses. */
const failed = new Map<number, string>()

for (const { language, dark } of LOOKS) {
  const t = texts(language)

  test(
    `18 (${language}, ${dark ? 'dark' : 'light'}): usage by hour with the keyboard, as a table, and down to the log`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      const problems: string[] = []
      await enter(guest.context, tollgate, customer)
      await page.goto(`${tollgate.url}/usage`)
      await page
        .locator('label')
        .filter({ hasText: t('usage.by_hour') })
        .click()
      const chart = page.getByRole('slider', { name: t('usage.by_hour') })
      await chart.waitFor()
      // By hour, the range is today: as many hours as have begun.
      const hours = Number(await chart.getAttribute('aria-valuemax'))
      assert.ok(hours >= 0 && hours <= 23, String(hours))
      await page.waitForURL(/[?&]by=hour/)
      await page.waitForURL(/[?&]range=days_1/)
      await chart.focus()
      await chart.press('End')
      assert.match((await chart.getAttribute('aria-valuetext')) ?? '', /sandbox\/chat .*₽/)
      await chart.press('ArrowLeft')
      assert.equal(await chart.getAttribute('aria-valuenow'), String(Math.max(0, hours - 1)))
      await page.getByText(t('chart.table'), { exact: true }).click()
      const table = page.getByRole('region', { name: t('usage.by_hour') }).getByRole('table')
      await table.waitFor()
      assert.equal(await table.getByRole('row').count(), hours + 2)
      problems.push(...(await findings(page, language)))
      await page
        .locator('label')
        .filter({ hasText: t('usage.by_day') })
        .click()
      const days = page.getByRole('slider', { name: t('usage.by_day') })
      await days.locator('svg rect').last().click()
      await page.waitForURL(/\/log\?model=sandbox%2Fchat&from=[^&]+&to=[^&]+$/)
      await page.getByRole('row').nth(2).waitFor()
      await guest.follow('/usage')
      await page.getByRole('combobox', { name: t('usage.group') }).click()
      await page.getByRole('option', { name: t('usage.by_app') }).click()
      await page.getByRole('cell', { name: 'Notes' }).waitFor()
      const fills = await page.evaluate<readonly string[]>(
        "[...document.querySelectorAll('main [role=slider] svg rect[rx]')].map((bar) => getComputedStyle(bar).fill)",
      )
      assert.equal(new Set(fills).size, 2, fills.join(' '))
      assert.ok(!fills.includes('rgb(0, 0, 0)'), fills.join(' '))
      problems.push(...guest.troubles)
      assert.deepEqual(problems, [])
      await guest.close()
    },
  )

  test(
    `18 (${language}): what end users spent, down to their requests, for the customer and the operator`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, customer)
      await page.goto(`${tollgate.url}/usage`)
      await page.getByRole('combobox', { name: t('usage.group') }).click()
      await page.getByRole('option', { name: t('usage.by_end_user') }).click()
      await page.getByText(t('usage.end_user_hint')).waitFor()
      const groups = page.getByRole('table', { name: t('usage.groups') })
      await groups.getByText(t('usage.no_end_user')).waitFor()
      const problems = [...(await findings(page, language))]
      await groups.getByRole('link', { name: USER }).click()
      await page.waitForURL(/\/log\?end_user=/)
      const field = page.getByRole('textbox', { name: t('log.filter_end_user') })
      assert.equal(await field.inputValue(), USER)
      const rows = page.getByRole('table', { name: t('nav.log') }).locator('tbody a')
      await rows.first().waitFor()
      assert.equal(await rows.count(), 1)
      await rows.first().click()
      const story = page.getByRole('dialog')
      await story.getByText(USER, { exact: true }).waitFor()
      problems.push(...(await findings(page, language)))
      await page.keyboard.press('Escape')
      await field.fill('')
      await rows.nth(2).waitFor()
      await enter(
        guest.context,
        tollgate,
        await promote(tollgate, await signUp(tollgate, `of-${language}@example.com`)),
      )
      await page.goto(`${tollgate.url}/operator/accounts/${customer.accountId}?tab=usage&group=person`)
      await groups.getByRole('link', { name: customer.email }).waitFor()
      await page.getByRole('slider', { name: t('usage.by_day') }).waitFor()
      await page.getByRole('combobox', { name: t('usage.group') }).click()
      await page.getByRole('option', { name: t('usage.by_end_user') }).click()
      await groups.getByText(t('usage.no_end_user')).waitFor()
      problems.push(...(await findings(page, language)))
      await groups.getByRole('link', { name: USER }).click()
      await page.waitForURL(/end_user=/)
      assert.equal(new URL(page.url()).searchParams.get('account'), customer.accountId)
      assert.equal(await page.getByLabel(t('log.filter_end_user')).first().inputValue(), USER)
      await page.goto(`${tollgate.url}/operator/requests?request=${named.body.id}`)
      await page.getByRole('dialog').getByRole('link', { name: USER }).click()
      await page.waitForURL(/end_user=/)
      assert.equal(await page.getByLabel(t('log.filter_end_user')).first().inputValue(), USER)
      problems.push(...(await findings(page, language)))
      await guest.close()
      assert.deepEqual([...problems, ...guest.troubles], [])
    },
  )

  test(
    `17 (${language}): what a page shows is in its address: it is the same after a reload, back, and for others`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, customer)
      await page.goto(`${tollgate.url}/usage?range=days_7&group=app&show=requests`)
      const legend = page.getByRole('group', { name: t('chart.series') })
      const notes = legend.getByRole('button', { name: 'Notes' })
      await page.getByRole('slider', { name: t('usage.by_day') }).focus()
      const spoken = async (): Promise<string> => {
        await page.keyboard.press('End')
        return (await page.getByRole('slider', { name: t('usage.by_day') }).getAttribute('aria-valuetext')) ?? ''
      }
      // The sum of a day's series is said with them.
      const said = await spoken()
      assert.match(said, new RegExp(`Notes 1, .*${t('chart.total')} \\d+$`))
      const counts = [...said.matchAll(/ (\d+)(?=,|$)/g)].map(([, digits]) => Number(digits))
      assert.equal(
        counts.at(-1),
        counts.slice(0, -1).reduce((sum, count) => sum + count, 0),
        said,
      )
      await notes.click()
      await page.waitForURL(/off=/)
      const check = async (): Promise<void> => {
        assert.equal(await notes.getAttribute('aria-pressed'), 'false')
        assert.equal(await page.getByRole('combobox', { name: t('range.period') }).inputValue(), t('range.days_7'))
        assert.equal(await page.getByRole('combobox', { name: t('usage.group') }).inputValue(), t('usage.by_app'))
        await page.getByRole('slider', { name: t('usage.by_day') }).focus()
        assert.ok(!/Notes/.test(await spoken()))
      }
      await check()
      const colours = (): Promise<readonly string[]> =>
        page.evaluate<readonly string[]>(
          "[...document.querySelectorAll('main .mantine-ColorSwatch-colorOverlay')].map((dot) => dot.style.backgroundColor)",
        )
      const before = await colours()
      await page.reload()
      await notes.waitFor()
      await check()
      assert.deepEqual(await colours(), before)
      await page.getByRole('cell', { name: 'Notes' }).getByRole('link').click()
      await page.waitForURL(/\/log\?/)
      await page.goBack()
      await notes.waitFor()
      await check()
      await page.goto(`${tollgate.url}/statement?from=2026-01-05&to=2026-01-06`)
      assert.equal(await page.getByRole('combobox', { name: t('range.period') }).inputValue(), t('range.own'))
      await guest.follow('/apps?range=days_1')
      await page.getByRole('cell', { name: 'Notes' }).waitFor()
      assert.equal(await page.getByRole('combobox', { name: t('range.period') }).inputValue(), t('range.days_1'))
      assert.deepEqual(guest.troubles, [])
      await guest.close()
    },
  )

  test(
    `18 (${language}): why a request failed, in plain words, with what helps and what the client was told`,
    { skip },
    async () => {
      for (const status of [400, 401])
        if (!failed.has(status))
          failed.set(status, (await chat(tollgate, key, `sandbox: status=${status}`)).headers['x-generation-id'] ?? '')
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, customer)
      await page.goto(`${tollgate.url}/log/${failed.get(400)}`)
      const why = page.getByRole('alert').filter({ hasText: t('error.invalid_input') })
      await why.getByText(t('remedy.change')).waitFor()
      await why.getByText('The sandbox was asked to fail with 400').waitFor()
      await page
        .getByRole('listitem')
        .filter({ hasText: `${t('attempt_status.request')} (400)` })
        .waitFor()
      const problems = [...(await findings(page, language))]
      // What a provider says of the operator's credentials is not for customers.
      await page.goto(`${tollgate.url}/log/${failed.get(401)}`)
      const fault = page.getByRole('alert').filter({ hasText: t('error.provider_error') })
      await fault.getByText(t('remedy.again')).waitFor()
      assert.equal(await page.getByText('asked to fail').count(), 0)
      const { body } = await tollgate.request('GET', `/cabinet/v1/log/${failed.get(401)}`, {
        headers: customer.headers,
      })
      assert.deepEqual(
        body.attempts.map(({ said }: { said: string | null }) => said),
        [null],
      )
      problems.push(...(await findings(page, language)), ...guest.troubles)
      await guest.close()
      assert.deepEqual(problems, [])
    },
  )

  test(`18 (${language}): the bill of a request adds up as it is shown`, { skip }, async () => {
    const guest = await visitor(browser, tollgate.url, { language, dark })
    const { page } = guest
    await enter(guest.context, tollgate, customer)
    await page.goto(`${tollgate.url}/log/${generation}`)
    const bill = page.getByRole('table', { name: t('request.bill') })
    await bill.waitFor()
    const rows = await bill.locator('tr:has(td)').evaluateAll((found) =>
      // The script runs in the page.
      found.map((row) => [...row.children].map((cell) => (cell as unknown as { innerText: string }).innerText)),
    )
    const nano = (text = ''): number => Math.round(Number(text.replaceAll(/[^\d.,-]/g, '').replace(',', '.')) * 1e9)
    const labels = rows.map(([label = '']) => label)
    const amounts = rows.map((row) => nano(row.at(-1)))
    const sumAt = labels.indexOf(t('request.sum'))
    const add = (list: readonly number[]): number => list.reduce((sum, amount) => sum + amount, 0)
    assert.ok(sumAt > 0, labels.join(', '))
    assert.equal(add(amounts.slice(0, sumAt)), amounts[sumAt])
    assert.equal(add(amounts.slice(sumAt, -1)), amounts.at(-1))
    const per = language === 'ru' ? /за\s1\sмлн/ : /per\s1M/
    for (const [label = '', units, price = ''] of rows.slice(0, sumAt))
      assert.ok(nano(units) > 0 && per.test(price), `${label}: ${units} × ${price}`)
    for (const [, units, price, amount] of rows.slice(0, sumAt))
      assert.ok(Math.abs((nano(units) / 1e9) * (nano(price?.replace(per, '')) / 1e6) - nano(amount)) < 1)
    assert.deepEqual([...(await seriousFindings(page)), ...guest.troubles], [])
    await guest.close()
  })
}
