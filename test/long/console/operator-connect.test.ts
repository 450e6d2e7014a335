import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findings } from '../../harness/page-findings.ts'
import { LOOKS, visitor } from '../../harness/browser.ts'
import { enter, promote, signUp, texts, serveConsole, tollgate, browser } from '../../harness/console-world.ts'
import { startModelLister } from '../../harness/model-lister.ts'
import { answers, startScriptedUpstream } from '../../harness/scripted-upstream.ts'
import { startTollgate } from '../../harness/server.ts'

const KEY = 'sk-right-key-of-north'

const skip = await serveConsole(() =>
  startTollgate({ env: { TOLLGATE_LOG_LEVEL: 'error', ALLOW_PRIVATE_UPSTREAMS: 'true' } }),
)

await tollgate.admin('PATCH', '/admin/v1/settings', { rates: { USD: 90 }, markup: 1.25 })
const north = await startModelLister(KEY, [{ id: 'gpt-4o-mini' }, { id: 'gpt-4o' }, { id: 'north-large' }])
const owner = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const name = `${language}, ${dark ? 'dark' : 'light'}`

  test(`16 (${name}): a provider is picked, tried, and saved with the chosen models`, { skip }, async () => {
    const guest = await visitor(browser, tollgate.url, { language, dark, height: 720 })
    const { page } = guest
    await enter(guest.context, tollgate, owner)
    await page.goto(`${tollgate.url}/operator/providers`)
    await page.getByRole('link', { name: t('providers.add') }).click()
    await page.getByRole('button', { name: /^OpenAI/ }).click()
    await page.getByLabel(t('providers.address')).fill(north.url)
    const key = page.getByLabel(t('providers.key'), { exact: true })
    await key.fill('sk-wrong-key-of-north')
    await page.getByRole('button', { name: t('connect.test') }).click()
    await page.getByRole('alert').getByText(t('trial.refused'), { exact: true }).waitFor()
    assert.equal((await page.innerText('body')).includes('sk-wrong-key-of-north'), false)
    const problems = [...(await findings(page, language))]

    await key.fill(KEY)
    await page.getByRole('button', { name: t('connect.test') }).click()
    await page.getByText(t('trial.listed')).waitFor()
    const row = (id: string) => page.getByRole('row', { name: new RegExp(`${id}(?![\\w-])`) })
    const mini = row('openai/gpt-4o-mini')
    assert.match(await mini.innerText(), /20\s?%/, 'the margin of a markup of 1.25 stands beside the price')
    await page.getByLabel(t('service.markup')).fill(language === 'ru' ? '1,5' : '1.5')
    await mini.getByText(/^33[.,]3\s?%$/).waitFor()
    await page.getByRole('button', { name: t('connect.choose_none') }).click()
    await mini.getByRole('checkbox').check()
    await row('openai/north-large').getByRole('checkbox').check()
    const save = page.getByRole('button', { name: t('connect.save') })
    assert.equal(await save.isDisabled(), true, 'a model without a price cannot be saved')
    const box = await save.boundingBox()
    assert.ok(box !== null && box.y + box.height <= 720, 'the button stays in sight')
    const prices = row('openai/north-large').getByRole('textbox')
    // The first field has the context.
    await prices.nth(1).fill('0.5')
    await prices.nth(2).fill('1.5')
    problems.push(...(await findings(page, language)))
    await save.click()
    await page.waitForURL(/\/operator\/providers$/)
    const catalog = await tollgate.admin('GET', '/admin/v1/catalog')
    assert.deepEqual(
      catalog.body.models.map(({ id }: { id: string }) => id).filter((id: string) => !id.startsWith('sandbox/')),
      ['openai/gpt-4o-mini', 'openai/north-large'],
    )
    assert.equal(catalog.body.providers.openai.markup, 1.5)
    assert.deepEqual([...problems, ...guest.troubles], [])
    await guest.close()
    await tollgate.admin('DELETE', '/admin/v1/models/openai/north-large')
    assert.equal((await tollgate.admin('DELETE', '/admin/v1/providers/openai')).status, 200)
  })

  test(`16 (${name}): a provider is connected with tokens that the server gets itself`, { skip }, async () => {
    const guest = await visitor(browser, tollgate.url, { language, dark, height: 720 })
    const { page } = guest
    const tokens = await startScriptedUpstream()
    const right = `Basic ${Buffer.from('we:right-secret-of-us').toString('base64')}`
    tokens.answer((response, { headers }) =>
      headers.authorization === right
        ? answers({ access_token: KEY, expires_in: 3_600 })(response)
        : answers({ error: 'invalid_client' }, 401)(response),
    )
    await enter(guest.context, tollgate, owner)
    await page.goto(`${tollgate.url}/operator/providers/connect`)
    await page.getByRole('button', { name: /^OpenAI/ }).click()
    await page.getByLabel(t('providers.address')).fill(north.url)
    await page.getByRole('combobox', { name: t('sign_in.title') }).click()
    await page.getByRole('option', { name: t('sign_in.type_oauth'), exact: true }).click()
    await page.getByLabel(t('sign_in.field_token_url')).fill(`${tokens.url}/token`)
    await page.getByLabel(t('sign_in.field_client'), { exact: true }).fill('we')
    const secret = page.getByLabel(t('sign_in.field_secret'), { exact: true })
    await secret.fill('wrong-secret-of-us')
    await page.getByRole('button', { name: t('connect.test') }).click()
    await page.getByRole('alert').getByText(t('trial.no_token'), { exact: true }).waitFor()
    await page.getByText('auth: token refused: 401 invalid_client').waitFor()
    const problems = [...(await findings(page, language))]
    await secret.fill('right-secret-of-us')
    await page.getByRole('button', { name: t('connect.test') }).click()
    await page.getByText(t('trial.listed')).waitFor()
    await page.getByRole('button', { name: t('connect.save') }).click()
    await page.waitForURL(/\/operator\/providers$/)
    const { auth, api_key: key } = (await tollgate.admin('GET', '/admin/v1/providers/openai')).body
    assert.deepEqual(
      [auth, key],
      [{ type: 'oauth', token_url: `${tokens.url}/token`, client: 'we', secret: '…f-us' }, undefined],
    )
    assert.deepEqual([...problems, ...guest.troubles], [])
    await guest.close()
    await tollgate.admin('DELETE', '/admin/v1/providers/openai')
  })

  test(`16 (${name}): an own endpoint is connected in the same way`, { skip }, async () => {
    const guest = await visitor(browser, tollgate.url, { language, dark, width: 390, height: 780 })
    const { page } = guest
    await enter(guest.context, tollgate, owner)
    await page.goto(`${tollgate.url}/operator/providers/connect`)
    await page.getByRole('button', { name: new RegExp(`^${t('connect.own')}`) }).click()
    const own = `own-${language}-${dark ? 'dark' : 'light'}`
    await page.getByRole('textbox', { name: t('keys.name'), exact: true }).fill(own)
    await page.getByLabel(t('providers.address')).fill(north.url)
    await page.getByLabel(t('providers.key'), { exact: true }).fill(KEY)
    await page.getByRole('button', { name: t('connect.test') }).click()
    await page.getByText(t('trial.listed')).waitFor()
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    assert.ok(width <= 390, `the page is ${width} px wide`)
    const problems = [...(await findings(page, language))]
    await page.getByRole('button', { name: t('connect.save') }).click()
    await page.waitForURL(/\/operator\/providers$/)
    const catalog = await tollgate.admin('GET', '/admin/v1/catalog')
    assert.equal(catalog.body.providers[own].base_url, north.url)
    assert.deepEqual([...problems, ...guest.troubles], [])
    await guest.close()
    await tollgate.admin('DELETE', `/admin/v1/providers/${own}`)
  })
}
