import type { Page } from 'playwright-core'
import { OTHER_ACCOUNTS, ROW_STEP_MS, type FullLog, fillEmbeddedLog, fillEmbeddedLists } from '../harness/full-log.ts'
import { texts, promote, signUp, type Customer } from '../harness/console-world.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'
import { freshFolder } from '../harness/lasting.ts'

/** The page is in English. */
const t = texts('en')

/**
 * Runs in the page: records the time of the user's action, and the time when rows that satisfy a condition are painted.
 */
const WATCH = `(() => {
  let actedAt = 0
  const note = () => { actedAt = performance.now() }
  for (const kind of ['click', 'input', 'wheel', 'keydown']) document.addEventListener(kind, note, { capture: true, passive: true })
  const rows = () => [...document.querySelectorAll('main [role=rowgroup] [role=row]')].filter((row) => row.querySelector('[role=cell]:nth-child(2)') !== null).map((row) => row.innerText)
  window.paintedRows = rows
  window.paintedSince = (satisfied, afterMs) => new Promise((resolve, reject) => {
    const giveUpAt = performance.now() + 30000
    const look = () => {
      if (actedAt >= afterMs && satisfied(rows())) return requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - actedAt)))
      if (performance.now() > giveUpAt) return reject(new Error('not painted in 30 s: ' + rows().slice(0, 3).join(' | ')))
      requestAnimationFrame(look)
    }
    look()
  })
  window.pageDown = () => new Promise((resolve, reject) => {
    const frame = document.querySelector('main [role=rowgroup][tabindex]')
    const from = performance.now()
    const wish = frame.scrollTop + frame.clientHeight
    const look = () => {
      frame.scrollTop = wish
      const { top, bottom } = frame.getBoundingClientRect()
      const seen = [...frame.querySelectorAll('[role=row]')].filter((row) => row.querySelector('time') !== null).map((row) => row.getBoundingClientRect())
      const covered = Math.abs(frame.scrollTop - wish) < 2 && seen.length > 0 && seen[0].top <= top + 1 && seen.at(-1).bottom >= bottom - 1
      if (covered) return requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - from)))
      if (performance.now() - from > 30000) return reject(new Error('no rows there in 30 s'))
      requestAnimationFrame(look)
    }
    look()
  })
})()`

export interface LogStep {
  readonly name: string
  /** The user's last action; the time runs from there. */
  readonly act: (page: Page) => Promise<void>
  /** JavaScript: a function of the texts of the painted rows, true when they are the expected ones. */
  readonly until: string
}

/** To be called once after each load of the page. */
export async function watchLog(page: Page): Promise<void> {
  await page.evaluate(WATCH)
}

/** ms from the user's last action to the painted rows. */
export async function timeStep(page: Page, { act, until }: LogStep): Promise<number> {
  const before = await page.evaluate<number>(
    '(() => { window.firstRow = paintedRows()[0]; return performance.now() })()',
  )
  await act(page)
  return page.evaluate<number>(`paintedSince(${until}, ${before})`)
}

/** ms from scrolling the long list down by one screen to the painted rows. */
export function timePageDown(page: Page): Promise<number> {
  return page.evaluate<number>('pageDown()')
}

async function pick(page: Page, label: string, option: string): Promise<void> {
  await page.getByRole('combobox', { name: label }).click()
  await page.getByRole('option', { name: option, exact: true }).click()
}

/** Types a name into a filter that also takes names which its list lacks. */
async function type(page: Page, label: string, text: string): Promise<void> {
  const field = page.getByRole('combobox', { name: label, exact: true })
  await field.fill(text)
  await field.press('Enter')
}

/** Picks an option that the server finds. */
async function find(page: Page, label: string, text: string): Promise<void> {
  await page.getByRole('combobox', { name: label, exact: true }).fill(text)
  await page.locator(`[role=option][value="${text}"]`).click()
}

const every = (text: string): string =>
  `(rows) => rows.length > 0 && rows.every((row) => row.includes(${JSON.stringify(text)}))`

/** A day as the English pages show it, and as their fields accept it. */
function dayTexts(ms: number): { readonly typed: string; readonly short: string } {
  const part = (options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Moscow', ...options }).format(ms)
  const today = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Moscow', dateStyle: 'short' }).format(Date.now())
  return {
    typed: part({ day: '2-digit', month: '2-digit', year: 'numeric' }),
    // A row of today has only its time.
    short: part({ dateStyle: 'short' }) === today ? ':' : part({ day: 'numeric', month: 'short' }),
  }
}

/** Every filter of the customer's log, on the rows of `fillEmbeddedLog`; `turn` varies the values. */
export function customerSteps(log: FullLog, turn: number): readonly LogStep[] {
  const row = 2 * Math.floor(((turn * 0.618_034) % 1) * (log.rows / 2))
  const id = `gen-${Math.floor(log.startMs / 1_000) + row}-bench`
  const day = dayTexts(log.startMs + row * ROW_STEP_MS)
  const model = `vendor/model-${turn % 20}`
  return [
    { name: 'model', act: (page) => pick(page, t('log.filter_model'), model), until: every(model) },
    { name: 'rare model', act: (page) => pick(page, t('log.filter_model'), 'rare/model'), until: every('rare/model') },
    {
      name: 'key',
      act: (page) => pick(page, t('log.filter_key'), `key large ${turn % 3} · sk`),
      until: every(`key large ${turn % 3}`),
    },
    { name: 'status', act: (page) => pick(page, t('log.filter_status'), t('status.error')), until: every('error') },
    {
      name: 'kind',
      act: (page) => pick(page, t('log.filter_type'), t('type.embeddings')),
      until: '(rows) => rows.length > 0 && rows.every((row) => /model-(2|7|12|17)\\b|rare/.test(row))',
    },
    { name: 'provider', act: (page) => pick(page, t('log.filter_provider'), 'openai'), until: every('OpenAI') },
    { name: 'app', act: (page) => pick(page, t('log.filter_app'), 'Notes'), until: every('Notes') },
    {
      name: 'last day',
      act: async (page) => {
        await pick(page, t('range.period'), t('range.own'))
        await page.getByRole('textbox', { name: t('range.to') }).fill(day.typed)
        await page.keyboard.press('Tab')
      },
      until: `(rows) => rows.length > 0 && rows[0].includes(${JSON.stringify(day.short)})`,
    },
    {
      name: 'id',
      act: (page) => page.getByRole('textbox', { name: t('log.filter_id') }).fill(id),
      until: '(rows) => rows.length === 1',
    },
  ]
}

/** The same for the operator's. */
export function operatorSteps(log: FullLog, turn: number): readonly LogStep[] {
  const row = 2 * Math.floor(((turn * 0.618_034) % 1) * (log.rows / 2))
  const id = `gen-${Math.floor(log.startMs / 1_000) + row}-bench`
  const day = dayTexts(log.startMs + row * ROW_STEP_MS)
  const model = `vendor/model-${turn % 20}`
  const account = t('requests.account')
  const typed = (name: string, label: string, text: string, until: string): LogStep => ({
    name,
    act: (page) => type(page, label, text),
    until,
  })
  return [
    {
      name: 'account',
      act: (page) => find(page, account, `acc_${turn % OTHER_ACCOUNTS}`),
      until: every(`key ${turn % OTHER_ACCOUNTS}`),
    },
    {
      name: 'key',
      act: async (page) => {
        await find(page, account, log.large)
        await page.getByRole('combobox', { name: t('usage.key') }).click()
        await page.locator(`[role=option][value="key_large_${turn % 3}"]`).click()
      },
      until: every(`key large ${turn % 3}`),
    },
    typed('model', t('usage.model'), model, every(model)),
    typed('provider', t('log.filter_provider'), 'openai', every('OpenAI')),
    typed('generation id', t('log.filter_id'), id, '(rows) => rows.length === 1'),
    typed(
      'request id',
      t('log.filter_id'),
      `req-${Math.floor(row / 3)}`,
      '(rows) => rows.length > 0 && rows.length < 4',
    ),
    {
      name: 'last day',
      act: async (page) => {
        await pick(page, t('range.period'), t('range.own'))
        await page.getByRole('textbox', { name: t('range.to') }).fill(day.typed)
        await page.keyboard.press('Tab')
      },
      until: `(rows) => rows.length > 0 && rows[0].includes(${JSON.stringify(day.short)})`,
    },
  ]
}

export const NEXT_PAGE: LogStep = {
  name: 'next page',
  act: (page) => page.getByRole('button', { name: t('common.next'), exact: true }).click(),
  until: '(rows) => rows.length > 0 && rows[0] !== window.firstRow',
}

/** Removes the filters and waits for the newest rows, whose texts are given. */
export async function clearFilters(page: Page, newest: readonly string[]): Promise<number> {
  const clear = page.getByRole('button', { name: t('log.clear') })
  const until = `(rows) => rows[0] === ${JSON.stringify(newest[0])} && rows[1] === ${JSON.stringify(newest[1])}`
  if (await clear.isVisible()) return timeStep(page, { name: 'clear', act: () => clear.click(), until })
  throw new Error('there is nothing to clear')
}

/** The texts of the rows that are painted. */
export function paintedRows(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>('paintedRows()')
}

interface FullLists {
  readonly entries: number
  readonly accounts: number
}

export interface LogWorld {
  readonly tollgate: Tollgate
  readonly customer: Customer
  readonly operator: Customer
  readonly log: FullLog
  /** The account with the long ledger; null = there is none. */
  readonly ledger: string | null
}

/**
 * A server on a store whose log has so many rows, half of them the customer's; the last row is current. `lists`: with
 * another account's ledger and accounts beside.
 */
export async function startLogWorld(
  rows: number,
  told?: (rows: number) => void,
  lists: FullLists | null = null,
): Promise<LogWorld> {
  const dataDir = freshFolder()
  const env = { TOLLGATE_LOG_LEVEL: 'error' }
  const first = await startTollgate({ dataDir, env })
  const customer = await signUp(first, 'ann@example.com', { balance: 0 })
  const billed = lists === null ? null : await signUp(first, 'bob@example.com', { balance: 0 })
  const operator = await promote(first, await signUp(first, 'root@example.com', { balance: 0 }))
  await first.kill('SIGTERM')
  const log: FullLog = { rows, large: customer.accountId, startMs: Date.now() - rows * ROW_STEP_MS }
  fillEmbeddedLog(dataDir, log, { there: true, ...(told === undefined ? {} : { told }) })
  const ledger = billed?.accountId ?? null
  if (lists !== null && ledger !== null) fillEmbeddedLists(dataDir, ledger, lists, log.startMs)
  // Rows without charges violate the audit.
  const tollgate = await startTollgate({ dataDir, env, audited: false })
  const at = (who: Customer): Customer => ({ ...who, headers: { ...who.headers, origin: tollgate.url } })
  return { tollgate, customer: at(customer), operator: at(operator), log, ledger }
}
