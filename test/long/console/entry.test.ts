import assert from 'node:assert/strict'
import { test, after } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { visitor, type Visitor } from '../../harness/browser.ts'
import { enter, PASSWORD, signUp, texts, serveConsole, tollgate, browser } from '../../harness/console-world.ts'
import { casesOf } from '../../harness/form.ts'
import { startOidcIssuer, type OidcIssuer } from '../../harness/oidc-issuer.ts'
import { startTollgate } from '../../harness/server.ts'
import { startYookassa, type YookassaImitation } from '../../harness/yookassa.ts'

const CODE_MS = 30_000

let issuer: OidcIssuer
let yookassa: YookassaImitation

const skip = await serveConsole(async () => {
  issuer = await startOidcIssuer('tollgate', 'client-secret')
  yookassa = await startYookassa('100500', 'shop-secret')
  return startTollgate({
    env: {
      TOLLGATE_LOG_LEVEL: 'error',
      OIDC_ISSUER: issuer.url,
      OIDC_CLIENT_ID: 'tollgate',
      OIDC_CLIENT_SECRET: 'client-secret',
      OIDC_NAME: 'Acme ID',
      YOOKASSA_SHOP_ID: '100500',
      YOOKASSA_SECRET_KEY: 'shop-secret',
      YOOKASSA_API_URL: yookassa.url,
      YOOKASSA_NETWORKS: '127.0.0.1',
    },
  })
})

after(async () => {
  await issuer.close()
  await yookassa.close()
})

/** The browser had no errors, except the redirect to the given address. */
async function leave(guest: Visitor, sentTo = 'request to none'): Promise<void> {
  assert.deepEqual(
    guest.troubles.filter((trouble) => !trouble.startsWith(`request to ${sentTo}`)),
    [],
  )
  await guest.close()
}

async function signOut(page: Page, t: ReturnType<typeof texts>): Promise<void> {
  await page.getByRole('button', { name: / · / }).click()
  await page.getByRole('menuitem', { name: t('shell.sign_out') }).click()
  await page.waitForURL(/sign-in/)
}

for (const language of casesOf(['ru', 'en'] as const, ['ru'])) {
  const t = texts(language)
  const at = (name: string): string => `${name}.${language}@example.com`

  test(
    `1 (${language}): two-step sign-in is turned on with a QR code, then asks for a code; a recovery code does once`,
    { skip },
    async () => {
      const email = at('careful')
      const guest = await visitor(browser, tollgate.url, { language })
      const { page } = guest
      await enter(guest.context, tollgate, await signUp(tollgate, email))
      await page.goto(`${tollgate.url}/security`)
      const section = page.locator('section').filter({ has: page.getByRole('heading', { name: t('security.totp') }) })
      await section.getByRole('textbox', { name: t('security.current') }).fill(PASSWORD)
      await section.getByRole('button', { name: t('security.turn_on') }).click()
      await section.getByRole('img', { name: t('security.qr') }).waitFor()
      const uri = new URL(
        (await section.getByRole('link', { name: t('security.open_app') }).getAttribute('href')) ?? '',
      )
      const secret = uri.searchParams.get('secret') ?? ''
      assert.equal((await section.locator('code, pre').first().innerText()).replaceAll(/\s/g, ''), secret)
      const totp = new TOTP({ secret: Secret.fromBase32(secret) })
      await section.getByRole('textbox', { name: t('entry.code') }).fill('000000')
      await section.getByRole('button', { name: t('security.confirm') }).click()
      // The refusal stands beside its field, and is its description.
      await section.locator('input[aria-invalid=true][aria-describedby]').waitFor()
      await section.getByRole('textbox', { name: t('entry.code') }).fill(totp.generate())
      await section.getByRole('button', { name: t('security.confirm') }).click()
      await section.getByText(t('security.codes_once')).waitFor()
      const recovery = (await section.locator('code, pre').first().innerText()).trim().split(/\s+/)
      assert.equal(recovery.length, 10)
      await section.getByRole('button', { name: t('security.codes_kept') }).click()
      await section.getByText(t('security.on'), { exact: true }).waitFor()
      // A code of the next half minute: the current one has been used.
      for (const code of [totp.generate({ timestamp: Date.now() + CODE_MS }), recovery[0] ?? '']) {
        await signOut(page, t)
        await page.getByLabel(t('entry.email')).fill(email)
        await page.getByRole('textbox', { name: t('entry.password') }).fill(PASSWORD)
        await page.getByRole('button', { name: t('entry.sign_in') }).click()
        await page.getByRole('heading', { name: t('entry.code_title') }).waitFor()
        await page.getByRole('textbox', { name: t('entry.code') }).fill(code)
        await page.getByRole('button', { name: t('entry.sign_in') }).click()
        await page.getByRole('heading', { level: 1, name: t('nav.home') }).waitFor()
      }
      await guest.follow('/security')
      await page.getByRole('cell', { name: t('security.method_recovery_code') }).waitFor()
      await page.getByRole('cell', { name: t('security.method_totp') }).waitFor()
      await section.getByRole('textbox', { name: t('entry.code') }).fill(recovery[1] ?? '')
      await section.getByRole('button', { name: t('security.turn_off') }).click()
      await section.getByText(t('security.off'), { exact: true }).waitFor()
      await leave(guest)
    },
  )

  test(
    `1 (${language}): sessions are listed; one that is ended elsewhere opens nothing any more`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, { language })
      const { page } = guest
      const email = at('lister')
      const customer = await signUp(tollgate, email)
      const other = await tollgate.request('POST', '/cabinet/v1/sign-in', {
        body: { email, password: PASSWORD },
        headers: {
          origin: tollgate.url,
          'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
        },
      })
      const cookie = (other.headers['set-cookie'] ?? '').split(';')[0] ?? ''
      await enter(guest.context, tollgate, customer)
      await page.goto(`${tollgate.url}/security`)
      const sessions = page.getByRole('table', { name: t('security.sessions') })
      await sessions
        .getByRole('row', { name: /Firefox/ })
        .getByRole('button', { name: t('security.end'), exact: true })
        .click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: t('security.end'), exact: true })
        .click()
      await sessions.getByRole('row', { name: /Firefox/ }).waitFor({ state: 'detached' })
      assert.equal((await tollgate.request('GET', '/cabinet/v1/profile', { headers: { cookie } })).status, 401)
      await page
        .getByRole('table', { name: t('security.sign_ins') })
        .getByRole('row', { name: /Firefox/ })
        .waitFor()
      await leave(guest)
    },
  )

  test(`1 (${language}): single sign-on leads to the provider and back, signed in`, { skip }, async () => {
    issuer.person = { sub: `acme-${language}`, email: at('acme'), email_verified: true, name: 'Ann' }
    const guest = await visitor(browser, tollgate.url, { language })
    const { page } = guest
    await page.goto(tollgate.url)
    await page.getByRole('link', { name: t('entry.oidc', { name: 'Acme ID' }) }).click()
    await page.getByRole('heading', { level: 1, name: t('nav.home') }).waitFor()
    await guest.follow('/security')
    const identities = page.getByRole('table', { name: t('security.oidc') })
    await identities
      .getByRole('row')
      .filter({ hasText: at('acme') })
      .getByText(t('security.oidc_only'))
      .waitFor()
    await signOut(page, t)
    // The issuer does not verify the e-mail of a new person.
    issuer.person = { sub: `stranger-${language}`, email: at('stranger'), email_verified: false }
    await page.getByRole('link', { name: t('entry.oidc', { name: 'Acme ID' }) }).click()
    await page
      .getByRole('alert')
      .filter({ hasText: t('entry.oidc_failed') })
      .waitFor()
    await leave(guest, issuer.url)
  })

  test(
    `1 (${language}): a user connects single sign-on with the password, and disconnects it with the password`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, { language })
      const { page } = guest
      await enter(guest.context, tollgate, await signUp(tollgate, at('linker')))
      issuer.person = { sub: `linker-${language}`, email: `linker.${language}@issuer.example` }
      await page.goto(`${tollgate.url}/security`)
      const dialog = page.getByRole('dialog')
      const add = t('security.oidc_add', { name: 'Acme ID' })
      await page.getByRole('button', { name: add }).click()
      await dialog.getByLabel(t('security.current')).fill('a wrong password')
      const refused = page.waitForResponse(
        (answer) => answer.url().endsWith('/identities/link') && answer.status() === 400,
      )
      await dialog.getByRole('button', { name: add }).click()
      await refused
      await dialog.getByLabel(t('security.current')).fill(PASSWORD)
      await dialog.getByRole('button', { name: add }).click()
      await page.waitForURL(/\/security#linked/)
      const row = page
        .getByRole('table', { name: t('security.oidc') })
        .getByRole('row')
        .filter({ hasText: `linker.${language}@issuer.example` })
      await row.getByRole('button', { name: t('security.oidc_remove') }).click()
      await dialog.getByLabel(t('security.current')).fill(PASSWORD)
      await dialog.getByRole('button', { name: t('security.oidc_remove') }).click()
      await row.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: add }).waitFor()
      const troubles = guest.troubles.filter(
        (trouble) => !trouble.startsWith(`request to ${issuer.url}`) && !trouble.includes('400'),
      )
      assert.deepEqual(troubles, [])
      await guest.close()
    },
  )

  test(
    `7 (${language}): a top-up goes from the form over the payment page to a row of the ledger`,
    { skip },
    async () => {
      const guest = await visitor(browser, tollgate.url, { language })
      const { page } = guest
      await enter(guest.context, tollgate, await signUp(tollgate, at('payer'), { balance: 0 }))
      await page.route('https://yoomoney.example/**', (route) =>
        route.fulfill({
          contentType: 'text/html',
          body: '<!doctype html><title>pay</title><link rel="icon" href="data:,">',
        }),
      )
      await page.goto(`${tollgate.url}/top-up`)
      await page.getByLabel(t('money.amount')).fill(language === 'en' ? '1,234.5' : '1 234,5')
      await page.getByRole('button', { name: 'YooKassa' }).click()
      await page.waitForURL(/^https:\/\/yoomoney\.example\/pay/)
      const payment = [...yookassa.payments.values()].at(-1)
      assert.ok(payment !== undefined)
      assert.deepEqual(payment.amount, { value: '1234.50', currency: 'RUB' })
      await page.goto(payment.confirmation?.return_url ?? '')
      const amount = language === 'en' ? '₽1,234.50' : '1 234,50 ₽'
      await page
        .getByRole('status')
        .filter({ hasText: t('money.pending', { amount }) })
        .waitFor()
      Object.assign(payment, { status: 'succeeded', paid: true })
      const paid = page.getByRole('status').filter({ hasText: t('money.paid', { amount }) })
      // The page also checks by itself, and then has no button any more.
      await Promise.any([page.getByRole('button', { name: t('money.check') }).click(), paid.waitFor()])
      await paid.waitFor()
      await page.goto(`${tollgate.url}/ledger`)
      const row = page
        .getByRole('table')
        .getByRole('row')
        .filter({ hasText: `yookassa:${payment.id}` })
      await row.getByRole('cell', { name: amount }).first().waitFor()
      await leave(guest, 'https://yoomoney.example/')
    },
  )

  test(`1 (${language}): the printed set-up link makes the first administrator, once`, { skip }, async (context) => {
    const fresh = await startTollgate({ env: { TOLLGATE_LOG_LEVEL: 'error' } })
    context.after(() => fresh.stop())
    const guest = await visitor(browser, fresh.url, { language })
    const { page } = guest
    await page.goto(fresh.url)
    await page
      .getByRole('alert')
      .filter({ hasText: t('entry.needs_setup') })
      .waitFor()
    const token = /\/setup\?token=([\w-]{43})/.exec(fresh.logs().join('\n'))?.[1] ?? ''
    await page.goto(`${fresh.url}/setup?token=${token}`)
    await page.getByRole('heading', { name: t('entry.setup_first_administrator') }).waitFor()
    await page.getByLabel(t('entry.email')).fill('root@example.com')
    await page.getByRole('textbox', { name: t('entry.password') }).fill('password1234')
    await page.getByRole('button', { name: t('entry.setup_submit') }).click()
    await page.getByText(t('check.guessable')).waitFor()
    await page.getByRole('textbox', { name: t('entry.password') }).fill(PASSWORD)
    await page.getByRole('button', { name: t('entry.setup_submit') }).click()
    // Set-up ends at the first page, which says what comes next.
    await page.waitForURL(`${fresh.url}/operator`)
    await page.getByRole('heading', { level: 1, name: t('nav.home') }).waitFor()
    await guest.follow('/operator/accounts')
    await page.getByRole('heading', { level: 1, name: t('nav.accounts') }).waitFor()
    await signOut(page, t)
    await page.goto(`${fresh.url}/setup?token=${token}`)
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByRole('button', { name: t('entry.setup_submit') }).count(), 0)
    await leave(guest)
  })
}
