import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findings } from '../harness/page-findings.ts'
import { LOOKS, visitor } from '../harness/browser.ts'
import { chat, enter, makeKey, signUp, texts, serveConsole, tollgate, browser } from '../harness/console-world.ts'

const skip = await serveConsole()

for (const { language, dark } of LOOKS) {
  const t = texts(language)

  test(
    `19 (${language}, ${dark ? 'dark' : 'light'}): a new customer's steps tick themselves, and the first request appears`,
    { skip },
    async () => {
      const email = `new-${language}-${dark}@example.com`
      const customer = await signUp(tollgate, email, { balance: 0 })
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      await enter(guest.context, tollgate, customer)
      await page.goto(tollgate.url)
      const step = (name: string, done: boolean) => page.locator(`[data-step=${name}][data-done=${done}]`)
      for (const name of ['money', 'key', 'request']) await step(name, false).waitFor()
      const look = async () => [...(await findings(page, language))]
      const problems = await look()
      const { id, code } = (await tollgate.admin('POST', '/admin/v1/codes', { amount: 20 })).body.data[0]
      assert.ok(id)
      await step('money', false).getByRole('link').click()
      await page.getByLabel(t('money.code')).fill(code)
      await page.getByRole('button', { name: t('money.redeem_button') }).click()
      await page.getByRole('link', { name: /20/ }).first().waitFor()
      await guest.follow('/')
      await step('money', true).waitFor()
      const { key } = await makeKey(tollgate, customer, { name: 'first' })
      await step('key', true).waitFor()
      await page.getByText(t('first_steps.waiting')).waitFor()
      problems.push(...(await look()))
      const generation = (await chat(tollgate, key, 'Hello')).headers['x-generation-id'] ?? ''
      await step('request', true).waitFor()
      await page.locator('[data-first-answer]').getByRole('link', { name: 'sandbox/chat' }).waitFor()
      problems.push(...(await look()))
      await page.locator('[data-first-answer]').getByRole('link').click()
      await page.waitForURL(`${tollgate.url}/log/${generation}`)
      await guest.follow('/')
      await page.getByRole('heading', { name: t('home.snippets') }).waitFor()
      assert.equal(await page.locator('[data-step]').count(), 0, 'the list is gone')
      assert.deepEqual([...problems, ...guest.troubles], [])
      await guest.close()
    },
  )
}
