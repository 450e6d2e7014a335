import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { findings } from '../../harness/page-findings.ts'
import { browserSkip, LOOKS, openBrowser, visitor } from '../../harness/browser.ts'
import { buildConsole, chat, enter, makeKey, promote, signUp, texts } from '../../harness/console-world.ts'
import { startTollgate } from '../../harness/server.ts'
import { lasting } from '../../harness/lasting.ts'

const skip = browserSkip()
let browser: Browser

before(async () => {
  if (skip !== false) return
  buildConsole()
  browser = await openBrowser()
})

after(async () => {
  if (skip === false) await browser.close()
})

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  test(
    `16 (${language}, ${dark ? 'dark' : 'light'}): each step to the first request ticks itself, and then the list goes away`,
    { skip },
    async () => {
      const tollgate = await lasting(startTollgate({ env: { TOLLGATE_LOG_LEVEL: 'error' } }))
      const owner = await promote(tollgate, await signUp(tollgate, 'root@example.com'))
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, owner)
      await page.goto(`${tollgate.url}/operator`)
      const step = (name: string, done: boolean) => page.locator(`[data-step=${name}][data-done=${done}]`)
      await step('account', true).waitFor()
      for (const name of ['provider', 'model', 'key', 'request']) await step(name, false).waitFor()
      const problems = [...(await findings(page, language))]
      await tollgate.admin('PUT', '/admin/v1/providers/north', {
        adapter: 'openai',
        base_url: 'https://north.example/v1',
        api_key: 'sk-north',
      })
      await step('provider', true).waitFor()
      const { key } = await makeKey(tollgate, owner, { name: 'first' })
      await step('key', true).waitFor()
      assert.match(
        (await step('request', false).getByRole('link').getAttribute('href')) ?? '',
        /\/playground$/,
        'what is left leads to its page',
      )
      assert.equal((await chat(tollgate, key, 'Hello')).status, 200)
      await step('request', true).waitFor()
      await step('model', false).waitFor()
      await tollgate.admin('PUT', '/admin/v1/models/north/large', {
        type: 'chat',
        context_length: 8_000,
        endpoints: [{ provider: 'north', model: 'large', price: { currency: 'RUB', prompt: 10, completion: 20 } }],
      })
      await page.getByRole('heading', { name: t('first_run.title') }).waitFor({ state: 'detached' })
      assert.deepEqual([...problems, ...guest.troubles], [])
      await guest.close()
    },
  )
}
