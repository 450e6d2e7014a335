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
  textPattern,
  texts,
  tollgate,
} from '../harness/console-world.ts'
import { lasting } from '../harness/lasting.ts'
import { startModelLister } from '../harness/model-lister.ts'
import { findings } from '../harness/page-findings.ts'
import { listen } from '../harness/scripted-upstream.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'

/** From a fresh service to models that can be sold, without a page to leave and without a lost word. */

const KEY = 'sk-right-key-of-north'
const bank = await listen((response) => {
  const entry = (code: string, value: string): string =>
    `<Valute ID="R0"><CharCode>${code}</CharCode><Nominal>1</Nominal><Value>${value}</Value></Valute>`
  response.writeHead(200).end(`<ValCurs Date="27.11.2026">${entry('USD', '90,5000')}${entry('EUR', '110,0')}</ValCurs>`)
})
const start = (): Promise<Tollgate> =>
  startTollgate({
    env: { TOLLGATE_LOG_LEVEL: 'error', ALLOW_PRIVATE_UPSTREAMS: 'true', TOLLGATE_CBR_URL: `${bank.url}/` },
  })
const skip = await serveConsole(start)
const north = await startModelLister(KEY, [{ id: 'gpt-4o-mini' }])
const LONG = `vendor/${'long-name-'.repeat(15)}end`
const own = await startModelLister(KEY, [{ id: 'gpt-5.5' }, { id: LONG }])
const owner = await promote(tollgate, await signUp(tollgate, 'root@example.com'))
await tollgate.admin('PATCH', '/admin/v1/settings', { rates: { USD: 90.5 } })

for (const { language, dark } of LOOKS) {
  const t = texts(language)

  test(`rates by one switch beside the models that need them (${language}, ${dark})`, { skip }, async () => {
    // No route takes a rate away, so only a new service has none.
    const fresh = await lasting(start())
    const guest = await visitor(browser, fresh.url, { language, dark })
    const { page } = guest
    await enter(guest.context, fresh, await promote(fresh, await signUp(fresh, 'root@example.com')))
    await page.goto(`${fresh.url}/operator/providers/connect`)
    await page.getByRole('button', { name: /^OpenAI/ }).click()
    await page.getByLabel(t('providers.address')).fill(north.url)
    await page.getByLabel(t('providers.key'), { exact: true }).fill(KEY)
    // Another page in between takes nothing away.
    await page.getByRole('link', { name: t('nav.health') }).click()
    await page.waitForURL(/\/operator\/health$/)
    await page.goBack()
    assert.equal(await page.getByLabel(t('providers.address')).inputValue(), north.url)
    assert.equal(await page.getByLabel(t('providers.key'), { exact: true }).inputValue(), KEY)
    await page.getByRole('button', { name: t('connect.test') }).click()
    const row = page.getByRole('row', { name: /openai\/gpt-4o-mini/ })
    await row.waitFor()
    const missing = page.getByText(t('connect.no_rate', { currency: 'USD' }))
    await missing.waitFor()
    const problems = [...(await findings(page, language))]
    await page.getByRole('switch', { name: t('rates.fetched') }).click()
    await missing.waitFor({ state: 'detached' })
    assert.deepEqual((await fresh.admin('GET', '/admin/v1/settings')).body.rates, {
      source: 'cbr',
      USD: 90.5,
      EUR: 110,
    })
    await row.getByText('13,58').or(row.getByText('13.58')).waitFor()
    assert.deepEqual([...problems, ...guest.troubles], [])
    await guest.close()
  })

  test(`a guess is one, no id is cut, known prices are offered (${language}, ${dark})`, { skip }, async () => {
    const guest = await visitor(browser, tollgate.url, { language, dark })
    const { page } = guest
    await enter(guest.context, tollgate, owner)
    await page.goto(`${tollgate.url}/operator/providers/connect`)
    await page.getByRole('button', { name: t('connect.own') }).click()
    const address = page.getByLabel(t('providers.address'))
    await address.fill('gateway')
    await page.getByRole('button', { name: t('connect.test') }).click()
    // Each field says what is wrong, in the language of the page.
    await page.getByText(t('common.required'), { exact: true }).first().waitFor()
    await page.getByText(t('common.no_url')).waitFor()
    const problems = [...(await findings(page, language))]
    await page.getByRole('textbox', { name: new RegExp(`^${t('keys.name')}`) }).fill('Gate')
    await address.fill(own.url)
    assert.equal(await page.getByText(t('common.no_url')).count(), 0)
    await page.getByLabel(t('providers.key'), { exact: true }).fill(KEY)
    await page.getByRole('button', { name: t('connect.test') }).click()
    const long = page.getByRole('row', { name: new RegExp(LONG) })
    await long.getByText(t('prices.guess')).waitFor()
    const known = page.getByRole('row', { name: /gpt-5\.5/ })
    await known.getByText(/openai\/gpt-5\.5:.*5.*30.*272/).waitFor()
    await known.getByRole('button', { name: t('connect.use') }).click()
    assert.notEqual(await known.getByRole('textbox').nth(0).inputValue(), '', 'the window of that model')
    problems.push(...(await findings(page, language)))
    await page.getByRole('button', { name: t('connect.save') }).click()
    await page.waitForURL(/\/operator\/providers$/)
    const { body } = await tollgate.admin('GET', '/admin/v1/models/gate/gpt-5.5')
    assert.deepEqual([body.endpoints[0].price.prompt, body.endpoints[0].price.tiers[0].above], [5, 272_000])
    assert.ok(body.context_length > 32_768)
    assert.deepEqual([...problems, ...guest.troubles], [])
    await guest.close()
    await tollgate.admin('DELETE', '/admin/v1/models/gate/gpt-5.5')
    await tollgate.admin('DELETE', '/admin/v1/providers/gate')
  })

  test(`a provider's state, a try of its new key, its quirks (${language}, ${dark})`, { skip }, async () => {
    const entry = { adapter: 'openai', base_url: north.url, api_key: KEY }
    assert.ok((await tollgate.admin('PUT', '/admin/v1/providers/north', entry)).status < 300)
    const price = { currency: 'RUB', prompt: 1, completion: 1 }
    const model = {
      type: 'chat',
      context_length: 8_192,
      endpoints: [{ provider: 'north', model: 'gpt-4o-mini', price }],
    }
    assert.ok((await tollgate.admin('PUT', '/admin/v1/models/north/mini', model)).status < 300)
    const customer = await signUp(tollgate, `asks-${language}-${dark}@example.com`)
    const { key } = await makeKey(tollgate, customer, { name: 'one' })
    north.answer = { status: 400, body: { error: { message: 'No' } } }
    assert.equal((await chat(tollgate, key, 'Hello', {}, { model: 'north/mini' })).status, 400)
    north.answer = null
    const guest = await visitor(browser, tollgate.url, { language, dark })
    const { page } = guest
    await enter(guest.context, tollgate, owner)
    await page.goto(`${tollgate.url}/operator/providers`)
    const row = page.getByRole('row').filter({ hasText: north.url })
    // A refusal by the provider is no answer by which its health is judged.
    await row
      .getByText(t('health.unused'))
      .or(row.getByText(t('health.failing')))
      .waitFor()
    await row.getByRole('link').waitFor()
    const problems = [...(await findings(page, language))]
    await row.getByRole('button', { name: t('common.edit') }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(t('providers.key'), { exact: true }).fill('sk-wrong')
    // A click beside the form does not throw away what was typed.
    await page.mouse.click(5, 5)
    await dialog.getByRole('button', { name: t('common.discard_not') }).click()
    await dialog.getByRole('button', { name: t('providers.test') }).click()
    await dialog.getByRole('alert').getByText(t('trial.refused'), { exact: true }).waitFor()
    await dialog.getByLabel(t('providers.key'), { exact: true }).fill(KEY)
    await dialog.getByRole('button', { name: t('providers.test') }).click()
    await dialog.getByText(t('trial.listed')).waitFor()
    await dialog.getByRole('switch', { name: t('quirk.json_word') }).click()
    problems.push(...(await findings(page, language)))
    await dialog.getByRole('button', { name: t('catalog.compare') }).click()
    await dialog.getByRole('button', { name: textPattern(language, 'catalog.apply') }).click()
    await dialog.waitFor({ state: 'detached' })
    const { body } = await tollgate.admin('GET', '/admin/v1/providers/north')
    assert.deepEqual(body.dialect, { json_word: true })
    assert.deepEqual([...problems, ...guest.troubles], [])
    await guest.close()
    await tollgate.admin('DELETE', '/admin/v1/models/north/mini')
    await tollgate.admin('DELETE', '/admin/v1/providers/north')
  })

  test(
    `a bill is compared, a draft of the catalogue is kept, charges are computed again (${language}, ${dark})`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, owner)
      await page.goto(`${tollgate.url}/operator/bills`)
      await page.getByRole('combobox', { name: t('log.filter_provider') }).click()
      await page.getByRole('option', { name: 'sandbox' }).click()
      await page.locator('input[type=file]').setInputFiles({
        name: 'bill.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from('day,model,amount,currency\n2026-01-31,chat,12.50,RUB\n'),
      })
      await page.getByText('bill.csv').waitFor()
      await page.getByRole('button', { name: t('bills.run') }).click()
      await page.getByText(t('bills.verdict_not_ours')).waitFor()
      const file = await page.request.get(
        `${tollgate.url}${await page.getByRole('link', { name: t('bills.save') }).getAttribute('href')}`,
      )
      assert.equal(file.status(), 200)
      const problems = [...(await findings(page, language))]
      await page.goto(`${tollgate.url}/operator/catalog`)
      const document = page.getByRole('textbox', { name: t('catalog.document') })
      await document.fill('{ "mine": 1 }')
      await page.getByRole('link', { name: t('nav.health') }).click()
      await page.waitForURL(/\/operator\/health$/)
      await page.goBack()
      assert.equal(await document.inputValue(), '{ "mine": 1 }')
      await page.getByRole('button', { name: t('catalog.discard') }).click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: t('common.discard'), exact: true })
        .click()
      assert.match(await document.inputValue(), /"providers"/)
      await page.goto(`${tollgate.url}/operator/audit`)
      await page.getByRole('button', { name: t('audit.replay_run') }).click()
      await page.getByText(t('audit.replay_ok')).waitFor()
      problems.push(...(await findings(page, language)))
      assert.deepEqual([...problems, ...guest.troubles], [])
      await guest.close()
    },
  )

  test(
    `a model that is typed by hand gets the prices that are known of it (${language}, ${dark})`,
    { skip },
    async () => {
      const known = await tollgate.admin('GET', '/admin/v1/catalog/known?model=anthropic/claude-sonnet-4.5')
      const { id, endpoints } = known.body.data[0]
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, owner)
      await page.goto(`${tollgate.url}/operator/prices`)
      await page.getByRole('button', { name: t('prices.add') }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel(t('prices.id')).fill('own/claude-sonnet-4.5')
      await dialog.getByText(id).waitFor()
      const problems = [...(await findings(page, language))]
      await dialog.getByRole('button', { name: t('connect.use') }).click()
      const cost = dialog.getByLabel(t('prices.cost_of', { price: t('price.prompt') })).first()
      assert.equal(Number((await cost.inputValue()).replace(',', '.')), Number(endpoints[0].price.prompt))
      assert.equal(await dialog.getByLabel(t('prices.id')).inputValue(), 'own/claude-sonnet-4.5')
      assert.deepEqual([...problems, ...guest.troubles], [])
      await guest.close()
    },
  )

  test(`settings are in groups that are saved alone, in units of people (${language}, ${dark})`, { skip }, async () => {
    const guest = await visitor(browser, tollgate.url, { language, dark })
    const { page } = guest
    await enter(guest.context, tollgate, owner)
    await page.goto(`${tollgate.url}/operator/settings`)
    const block = page.getByLabel(language === 'ru' ? 'Блокировать на' : 'Block for')
    await block.fill('2')
    await page
      .getByLabel(t('unit.of'))
      .nth(4)
      .selectOption({ label: t('unit.hours_other') })
    await page.getByLabel(t('service.markup')).fill(language === 'ru' ? '1,5' : '1.5')
    const problems = [...(await findings(page, language))]
    await page
      .getByRole('button', { name: t('common.save') })
      .first()
      .click()
    await page.getByText(t('common.saved')).first().waitFor()
    assert.equal(await block.inputValue(), '2', 'what is typed in another group stays')
    const before = (await tollgate.admin('GET', '/admin/v1/settings')).body
    assert.deepEqual([before.markup, before.ip_block.duration], [1.5, 600])
    const box = page.locator('section').filter({ has: block })
    await box.getByRole('button', { name: t('common.save') }).click()
    await page.getByText(t('common.saved')).nth(1).waitFor()
    assert.equal((await tollgate.admin('GET', '/admin/v1/settings')).body.ip_block.duration, 7_200)
    assert.deepEqual([...problems, ...guest.troubles], [])
    await guest.close()
    await tollgate.admin('PATCH', '/admin/v1/settings', {
      markup: 1,
      ip_block: { failures: 20, window: 60, duration: 600 },
    })
  })
}
