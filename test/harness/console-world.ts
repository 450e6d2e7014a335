import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Browser } from 'playwright-core'
import { tableTexts } from '../../console/src/locales/table-texts.ts'
import type { OperatorRole } from '../../src/tables/scopes.ts'
import type { ApiClient } from './api-client.ts'
import { lasting } from './lasting.ts'
import { browserSkip, openBrowser } from './browser.ts'
import { startTollgate, type Tollgate } from './server.ts'

const ROOT = join(import.meta.dirname, '../..')
export const CONSOLE_DIR = join(ROOT, 'console/dist')
export const PASSWORD = 'a gate with seven hinges'

/** Builds the console if its build is missing or old. */
export function buildConsole(): void {
  const built = spawnSync(
    process.execPath,
    ['-e', "import('./bin/console-fresh.js').then(({ freshenConsole }) => freshenConsole())"],
    { cwd: ROOT, encoding: 'utf8' },
  )
  if (built.status !== 0 || built.stderr !== '') throw new Error(`the console was not built: ${built.stderr}`)
}

/** All texts of the console in a language, also those of the operator's pages. */
export function localeTexts(language: 'en' | 'ru'): object {
  // JSON of texts in objects; a section may be in both files.
  const parts = ['', 'operator.'].map(
    (part) =>
      JSON.parse(readFileSync(join(ROOT, `console/src/locales/${part}${language}.json`), 'utf8')) as Readonly<
        Record<string, object>
      >,
  )
  return {
    ...Object.fromEntries(
      parts.flatMap(Object.keys).map((name) => [name, Object.assign({}, ...parts.map((part) => part[name] ?? {}))]),
    ),
    ...tableTexts(language),
  }
}

/** The console's texts in a language by path, with the given numbers and names. */
export function texts(language: 'en' | 'ru'): (path: string, values?: Readonly<Record<string, string>>) => string {
  const all = localeTexts(language)
  return (path, values = {}) => {
    // JSON of texts in objects.
    const found = path
      .split('.')
      .reduce<unknown>((part, name) => (part as Readonly<Record<string, unknown>> | undefined)?.[name], all)
    if (typeof found !== 'string') throw new Error(`no text ${path} in ${language}`)
    return found.replaceAll(/\{\{(\w+)\}\}/g, (gap, name: string) => values[name] ?? gap)
  }
}

const PLURALS = ['', '_one', '_few', '_many', '_other']

/** A pattern for the text at a path in all of its plural forms, with any numbers and names. */
export function textPattern(language: 'en' | 'ru', path: string): RegExp {
  const [section = '', name = ''] = path.split('.')
  // JSON of texts in objects.
  const known = Object.keys((localeTexts(language) as Readonly<Record<string, object>>)[section] ?? {})
  const forms = PLURALS.filter((plural) => known.includes(name + plural)).map((plural) =>
    texts(language)(path + plural),
  )
  if (forms.length === 0) throw new Error(`no text ${path} in ${language}`)
  const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(
    forms
      .map((text) =>
        text
          .split(/\{\{\w+\}\}/)
          .map(escaped)
          .join('.+'),
      )
      .join('|'),
  )
}

export interface Customer {
  readonly accountId: string
  readonly email: string
  /** `name=value` of the session. */
  readonly cookie: string
  /** Cookies and Origin, as the console's own page sends them. */
  readonly headers: Readonly<Record<string, string>>
}

/** A user who signed up; their account has `balance` RUB. */
export async function signUp(
  server: ApiClient,
  email: string,
  { balance = 500, name = 'Ann Lee' }: { readonly balance?: number; readonly name?: string } = {},
): Promise<Customer> {
  const made = await server.request('POST', '/cabinet/v1/sign-up', {
    body: { email, password: PASSWORD, name },
    headers: { origin: server.url },
  })
  if (made.status !== 201) throw new Error(`sign-up answered ${made.status}: ${made.text}`)
  const cookie = (made.headers['set-cookie'] ?? '').split(';')[0] ?? ''
  const accountId = String(made.body.profile.account_id)
  if (balance > 0)
    await server.admin('POST', `/admin/v1/accounts/${accountId}/ledger`, {
      kind: 'topup',
      amount: balance,
      reason: 'first top-up',
      reference: `first-${accountId}`,
    })
  return { accountId, email, cookie, headers: { cookie, origin: server.url } }
}

/** A key that the cabinet makes; returns the key itself. */
export async function makeKey(
  server: ApiClient,
  customer: Customer,
  body: Readonly<Record<string, unknown>>,
): Promise<{ readonly id: string; readonly key: string }> {
  const made = await server.request('POST', '/cabinet/v1/keys', { body, headers: customer.headers })
  if (made.status !== 201) throw new Error(`POST keys answered ${made.status}: ${made.text}`)
  return { id: String(made.body.id), key: String(made.body.key) }
}

/** Makes the user an administrator; that ends their session, so they sign in again. */
export async function promote(server: ApiClient, customer: Customer, role: OperatorRole = 'owner'): Promise<Customer> {
  const found = await server.admin('GET', `/admin/v1/users?account=${customer.accountId}`)
  const changed = await server.admin('PATCH', `/admin/v1/users/${found.body.data[0].id}`, { operator_role: role })
  if (changed.status !== 200) throw new Error(`PATCH user answered ${changed.status}: ${changed.text}`)
  const signed = await server.request('POST', '/cabinet/v1/sign-in', {
    body: { email: customer.email, password: PASSWORD },
    headers: { origin: server.url },
  })
  if (signed.status !== 200) throw new Error(`sign-in answered ${signed.status}: ${signed.text}`)
  const cookie = (signed.headers['set-cookie'] ?? '').split(';')[0] ?? ''
  return { ...customer, cookie, headers: { cookie, origin: server.url } }
}

/** Lets the browser use the session. */
export async function enter(context: BrowserContext, server: ApiClient, customer: Customer): Promise<void> {
  const [name = '', value = ''] = customer.cookie.split('=')
  await context.addCookies([{ name, value, url: server.url, httpOnly: true, sameSite: 'Lax' }])
}

/** One chat request to the sandbox. */
export function chat(
  server: ApiClient,
  key: string,
  text: string,
  headers: Record<string, string> = {},
  extra: Readonly<Record<string, unknown>> = {},
): ReturnType<ApiClient['request']> {
  return server.request('POST', '/v1/chat/completions', {
    key,
    headers,
    body: { model: 'sandbox/chat', messages: [{ role: 'user', content: text }], ...extra },
  })
}

export let tollgate: Tollgate
export let browser: Browser

/**
 * A server with a built console and a browser, until after the last test of the calling file. Answers the `skip` of the
 * tests: they are skipped where no browser is.
 */
export async function serveConsole(
  start = () => startTollgate({ env: { TOLLGATE_LOG_LEVEL: 'error' } }),
): Promise<string | false> {
  const skip = browserSkip()
  buildConsole()
  if (skip === false) browser = await lasting(openBrowser())
  tollgate = await lasting(start())
  return skip
}
