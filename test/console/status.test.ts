import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { LOOKS, visitor } from '../harness/browser.ts'
import { browser, enter, promote, serveConsole, signUp, texts, tollgate } from '../harness/console-world.ts'
import { until } from '../harness/patience.ts'
import { findings } from '../harness/page-findings.ts'
import { completion } from '../harness/provider-answers.ts'
import { listen, sendJson } from '../harness/scripted-upstream.ts'
import { startTollgate } from '../harness/server.ts'

/** Anybody sees how the models are, where the operator wants it; nothing of the providers is in it. */

const DARK_LINK = '#a171f2'
const shots = process.env['SHOTS_DIR']
const provider = await listen((response, { json }) => {
  const isDown = (json as { model?: string } | null)?.model === 'b'
  if (isDown) sendJson(response, { error: { message: 'secret-word' } }, 500)
  else sendJson(response, completion({ content: 'x' }, { usage: { prompt_tokens: 1, completion_tokens: 1 } }))
})
const row = (id: string, more = ''): string =>
  `  - { id: acme/${id}, type: chat, context_length: 8000, max_completion_tokens: 100${more}, endpoints: [{ provider: hidden-name, model: ${id}, price: { currency: RUB, prompt: 240, completion: 960 } }] }`
const skip = await serveConsole(() =>
  startTollgate({
    env: { TOLLGATE_LOG_LEVEL: 'error' },
    catalog: `
bundled: false
brand: { name: Aurora, accent: '#7c3aed' }
announcement: { text: '2026-12-01 03:00' }
providers:
  hidden-name: { adapter: openai, base_url: '${provider.url}/v1', api_key: k }
models:
${[row('a'), row('b'), row('c'), row('d', ', hidden: true')].join('\n')}
`,
  }),
)

async function anchorOf(page: Page): Promise<string> {
  const style = 'getComputedStyle(document.documentElement)'
  return (await page.evaluate<string>(`${style}.getPropertyValue('--mantine-color-anchor')`)).trim()
}

const status = (): ReturnType<typeof tollgate.request> => tollgate.request('GET', '/cabinet/v1/status')

test('the status is off until the operator turns it on, and names no provider, error or count', { skip }, async () => {
  const off = await status()
  assert.deepEqual([off.status, off.body.error.metadata.error_type], [404, 'not_found'])
  assert.equal((await tollgate.admin('PATCH', '/admin/v1/settings', { status_page: true })).status, 200)
  const { key } = await tollgate.createAccount()
  const ask = (model: string) =>
    tollgate.post('/v1/chat/completions', key, { model, max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] })
  assert.equal((await ask('acme/a')).status, 200)
  for (let count = 0; count < 6; count += 1) await ask('acme/b')
  const { status: code, body, text } = await status()
  assert.equal(code, 200, text)
  assert.equal(body.state, 'degraded')
  assert.deepEqual(
    body.models.map(({ id, state, uptime_1d: up }: { id: string; state: string; uptime_1d: number }) => [
      id,
      state,
      up,
    ]),
    [
      ['acme/a', 'operational', 100],
      ['acme/b', 'down', 0],
      ['acme/c', 'unknown', null],
    ],
  )
  assert.doesNotMatch(text, /hidden-name|secret-word|127\.0\.0\.1/)
  // Strangers get the same answer for a while.
  await ask('acme/c')
  assert.equal((await status()).text, text)
})

const owner = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

for (const { language, dark } of LOOKS) {
  const t = texts(language)

  test(`the operator's colour is seen at once, and one that cannot be is refused (${language})`, { skip }, async () => {
    assert.equal((await tollgate.admin('PATCH', '/admin/v1/settings', { brand: { name: 'Aurora' } })).status, 200)
    const guest = await visitor(browser, tollgate.url, { language, dark })
    const { page } = guest
    await enter(guest.context, tollgate, owner)
    await page.goto(`${tollgate.url}/operator/settings`)
    const field = page.getByLabel(language === 'ru' ? /^Цвет/ : /^Colour/)
    const form = page.locator('form').filter({ has: field })
    await field.fill('#ffff00')
    await form.getByRole('button', { name: t('common.save') }).click()
    await page.getByText(t('check.colour')).waitFor()
    await field.fill('#7c3aed')
    await form.getByRole('button', { name: t('common.save') }).click()
    await until(5_000, 'the page has the colour', async () => (await anchorOf(page)) === (dark ? DARK_LINK : '#7c3aed'))
    if (shots !== undefined)
      await page.screenshot({ path: join(shots, `accent-${language}-${dark ? 'dark' : 'light'}.png`) })
    assert.deepEqual(guest.troubles, [])
    await guest.close()
  })

  test(`a stranger sees the status (${language}, ${dark ? 'dark' : 'light'})`, { skip }, async () => {
    for (const width of [1280, 390]) {
      const guest = await visitor(browser, tollgate.url, { language, dark, width, height: 844 })
      const { page } = guest
      await page.goto(`${tollgate.url}/sign-in`)
      await page.getByRole('link', { name: t('service_status.link') }).click()
      await page.getByText(t('service_status.all_degraded')).waitFor()
      const main = await page.getByRole('main').innerText()
      assert.ok(main.includes('2026-12-01 03:00') && main.includes(t('service_status.down')), main)
      assert.ok(main.indexOf('acme/b') < main.indexOf('acme/a'), main)
      assert.match(await page.title(), /Aurora/)
      if (shots !== undefined)
        await page.screenshot({ path: join(shots, `status-${language}-${dark ? 'dark' : 'light'}-${width}.png`) })
      // The operator's colour is there with the first paint; a dark page has a lighter shade of it.
      assert.equal(await anchorOf(page), dark ? DARK_LINK : '#7c3aed')
      assert.deepEqual([...(await findings(page, language)), ...guest.troubles], [])
      await guest.close()
    }
  })
}
