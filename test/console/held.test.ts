import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOOKS, visitor } from '../harness/browser.ts'
import {
  browser,
  enter,
  promote,
  serveConsole,
  signUp,
  texts,
  textPattern,
  tollgate,
} from '../harness/console-world.ts'
import { findings } from '../harness/page-findings.ts'
import { listen, sendJson } from '../harness/scripted-upstream.ts'
import { startTollgate } from '../harness/server.ts'

/** Changes that wait for the operator are on the overview, and each says what it would do before it is decided. */

const list: object[] = []
const source = await listen((response) => sendJson(response, { data: list }))
const row = (id: string): string =>
  `  - { id: acme/${id}, type: chat, context_length: 8000, max_completion_tokens: 100, endpoints: [{ provider: acme, model: ${id}, price: { currency: USD, prompt: 2, completion: 8 } }] }`
const skip = await serveConsole(() =>
  startTollgate({
    env: { TOLLGATE_LOG_LEVEL: 'error' },
    catalog: `
rates: { USD: 100 }
markup: 1.25
providers:
  acme: { adapter: openai, base_url: '${source.url}/v1', api_key: k, price_list: { api: openrouter, rise: 10 } }
models:
${['a', 'b', 'c', 'd'].map(row).join('\n')}
`,
  }),
)
const owner = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

async function promptOf(id: string): Promise<unknown> {
  const { body } = await tollgate.admin('GET', `/admin/v1/models/acme/${id}`)
  return body.endpoints[0].price.prompt
}

for (const [round, { language, dark }] of LOOKS.entries()) {
  const t = texts(language)

  test(`held prices are seen, weighed and decided (${language}, ${dark ? 'dark' : 'light'})`, { skip }, async () => {
    // Each look finds prices that rise above the limit again.
    const prompt = 4 * 1.5 ** round
    list.splice(
      0,
      list.length,
      ...['a', 'b', 'c', 'd'].map((id) => ({
        id,
        pricing: { prompt: (prompt / 1e6).toFixed(12), completion: '0.000008', request: '0' },
      })),
    )
    const before = await promptOf('b')
    assert.equal((await tollgate.admin('POST', '/admin/v1/price-changes/fetch', {})).status, 200)
    const counted = await tollgate.admin('GET', '/admin/v1/price-changes?effects=false')
    assert.deepEqual(
      counted.body.data.map((one: object) => 'effect' in one),
      [false, false, false, false],
    )
    const guest = await visitor(browser, tollgate.url, { language, dark })
    const { page } = guest
    await enter(guest.context, tollgate, owner)
    await page.goto(`${tollgate.url}/operator`)
    await page.getByRole('link', { name: textPattern(language, 'overview.held') }).click()
    await page.waitForURL(`${tollgate.url}/operator/held`)
    const change = page.getByRole('row').filter({ hasText: 'acme/a' })
    await change.getByText(t('held_reason.rise')).waitFor()
    // The new cost, and the new price with the markup.
    const figures = await change.innerText()
    assert.ok(/20\s?%/.test(figures) && figures.includes(t('held.cost')), figures)
    const problems = [...(await findings(page, language))]
    const answer = async (label: string): Promise<void> =>
      page
        .getByRole('dialog')
        .getByRole('button', { name: t(label), exact: true })
        .click()
    await change.getByRole('button', { name: `${t('held.approve')}: acme/a` }).click()
    await answer('held.approve')
    await change.waitFor({ state: 'detached' })
    assert.equal(await promptOf('a'), prompt)
    await page.getByRole('button', { name: `${t('held.reject')}: acme/b` }).click()
    await answer('held.reject')
    await page.getByRole('row').filter({ hasText: 'acme/b' }).waitFor({ state: 'detached' })
    assert.equal(await promptOf('b'), before)
    await page.getByRole('button', { name: t('held.approve_all') }).click()
    await answer('held.approve')
    await page.getByText(t('held.none')).waitFor()
    assert.deepEqual([await promptOf('c'), await promptOf('d')], [prompt, prompt])
    await page.goto(`${tollgate.url}/operator`)
    await page.getByText(t('overview.nothing')).waitFor()
    assert.deepEqual([...problems, ...guest.troubles], [])
    await guest.close()
  })
}
