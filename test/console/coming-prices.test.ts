import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { LOOKS, visitor } from '../harness/browser.ts'
import { browser, enter, promote, serveConsole, signUp, texts, tollgate } from '../harness/console-world.ts'
import { findings } from '../harness/page-findings.ts'
import { startTollgate } from '../harness/server.ts'

/** An operator announces prices for a day; customers see them beside those of today. */

const shots = process.env['SHOTS_DIR']
const skip = await serveConsole(() =>
  startTollgate({
    env: { TOLLGATE_LOG_LEVEL: 'error' },
    catalog: `
bundled: false
markup: 1
providers:
  acme: { adapter: openai, base_url: 'http://127.0.0.1:9/v1', api_key: k }
models:
  - { id: acme/large, type: chat, context_length: 8000, max_completion_tokens: 100, endpoints: [{ provider: acme, model: a, price: { currency: RUB, prompt: 240, completion: 960 } }] }
`,
  }),
)
const owner = await promote(tollgate, await signUp(tollgate, 'root@example.com'))
const customer = await signUp(tollgate, 'one@example.com')
const DAY = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10)

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const shown = language === 'ru' ? DAY.split('-').toReversed().join('.') : DAY.split('-').toReversed().join('/')

  test(
    `prices are announced, shown to customers and taken back (${language}, ${dark ? 'dark' : 'light'})`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      const shot = async (name: string): Promise<void> => {
        if (shots === undefined) return
        const path = join(shots, `${name}-${language}-${dark ? 'dark' : 'light'}`)
        await page.screenshot({ path: `${path}.png` })
        await page.setViewportSize({ width: 390, height: 844 })
        await page.screenshot({ path: `${path}-phone.png` })
        await page.setViewportSize({ width: 1280, height: 800 })
      }
      await enter(guest.context, tollgate, owner)
      await page.goto(`${tollgate.url}/operator/prices`)
      await page.getByRole('button', { name: t('coming.change') }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel(t('service.markup')).fill(language === 'ru' ? '1,5' : '1.5')
      await dialog.getByLabel(t('coming.from')).fill(shown)
      await shot('coming-dialog')
      await dialog.getByRole('button', { name: t('coming.announce') }).click()
      const change = page.getByRole('row').filter({ hasText: t('coming.waits') })
      await change.waitFor()
      const figures = await change.innerText()
      assert.ok(/240.*360/s.test(figures), figures)
      const problems = [...(await findings(page, language))]
      await shot('coming-operator')
      await enter(guest.context, tollgate, customer)
      await page.goto(`${tollgate.url}/models`)
      const row = page.getByRole('row').filter({ hasText: 'acme/large' })
      assert.match(await row.innerText(), /240[\s\S]*360/)
      await shot('coming-models')
      problems.push(...(await findings(page, language)))
      await page.goto(`${tollgate.url}/model/acme/large`)
      await page.getByRole('heading', { level: 1, name: /large/ }).waitFor()
      // The page's head comes before what it reads.
      await page.getByRole('main').getByText(t('models.prices'), { exact: true }).first().waitFor()
      assert.match(await page.getByRole('main').innerText(), /240[\s\S]*360/)
      await shot('coming-model')
      problems.push(...(await findings(page, language)))
      await enter(guest.context, tollgate, owner)
      await page.goto(`${tollgate.url}/operator/prices`)
      await page.getByRole('button', { name: t('coming.withdraw') }).click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: t('coming.withdraw') })
        .click()
      await change.waitFor({ state: 'detached' })
      assert.deepEqual([...problems, ...guest.troubles], [])
      await guest.close()
    },
  )
}
