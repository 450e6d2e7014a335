import { StatementStore, type StatementSheet } from '../../src/store/ledger/statement-store.ts'
import { big } from '../../src/store/database.ts'
import { SIM_SEAL } from './sim-stores.ts'
import type { World } from './world.ts'

/** Months before the one in which a universe begins, and after the last that its clock may reach. */
const MONTHS_BEFORE = 1
const MONTHS_AFTER = 4

/** Making a formatter costs a hundred times more than using it. */
const DAYS = new Map<string, Intl.DateTimeFormat>()

interface Month {
  readonly from: string
  readonly to: string
}

/** Months as customers have seen them closed. */
export class Statements {
  readonly #world: World
  readonly #seen = new Map<string, string>()

  constructor(world: World) {
    this.#world = world
  }

  /** Reads the statements of an account, which closes ended months. */
  async look(accountId: string): Promise<readonly StatementSheet[]> {
    const world = this.#world
    const node = world.liveNode()
    const nowMs = Math.floor(world.beginMs + world.nowMs + (node?.skewMs ?? 0))
    const statements = new StatementStore(node?.database ?? world.database(), SIM_SEAL)
    const sheets: StatementSheet[] = []
    for (const month of monthsAround(world.beginMs)) {
      const sheet = await statements.read({
        accountId,
        ...month,
        timezone: world.catalog.current().settings.timezone,
        nowMs,
      })
      if (sheet === 'too_long') throw new Error('A statement of a universe is too long.')
      this.#check(accountId, month, sheet, localDay(nowMs, world.catalog.current().settings.timezone))
      sheets.push(sheet)
    }
    return sheets
  }

  /** At rest the months follow one another, from nothing to the account's balance. */
  async checkEnd(): Promise<void> {
    const world = this.#world
    for (const row of world.disk.all('SELECT id, available + held AS balance FROM account')) {
      const accountId = String(row['id'])
      const sheets = await this.look(accountId)
      const balance = sheets.reduce((before, { openingMicro, closingMicro }, index) => {
        if (openingMicro !== before)
          world.violation(
            `statements of ${accountId}: month ${index} opens at ${openingMicro}, the one before closes at ${before}`,
          )
        return closingMicro
      }, 0n)
      if (balance !== big(row, 'balance'))
        world.violation(`statements of ${accountId} end at ${balance}, it has ${big(row, 'balance')}`)
      const charged = sheets
        .flatMap(({ lines }) => lines)
        .reduce((sum, { kind, amountMicro }) => (kind === 'charge' ? sum - amountMicro : sum), 0n)
      const [held = {}] = world.disk.all('SELECT COALESCE(SUM(charged), 0) AS charged FROM hold WHERE account_id = ?', [
        accountId,
      ])
      if (charged !== big(held, 'charged'))
        world.violation(`statements of ${accountId} show charges of ${charged}, its holds ${big(held, 'charged')}`)
    }
  }

  #check(accountId: string, { from, to }: Month, sheet: StatementSheet, today: string): void {
    const { openingMicro, closingMicro, lines, closed } = sheet
    const world = this.#world
    const sum = lines.reduce((total, { amountMicro }) => total + amountMicro, openingMicro)
    if (sum !== closingMicro)
      world.violation(`statement of ${accountId} ${from}: lines come to ${sum}, it closes at ${closingMicro}`)
    const outside = lines.find(({ day }) => day.slice(0, 7) !== from.slice(0, 7))
    if (outside !== undefined) world.violation(`statement of ${accountId} ${from} has a line of ${outside.day}`)
    const name = `${accountId} ${from}`
    const shown = JSON.stringify(sheet, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
    const seen = this.#seen.get(name)
    if (seen !== undefined && seen !== shown)
      world.violation(`statement of ${name} was closed, and moved: ${seen} became ${shown}`)
    if (closed && seen === undefined && today <= to) world.violation(`statement of ${name} is closed on ${today}`)
    if (closed) this.#seen.set(name, shown)
  }
}

function monthsAround(beginMs: number): readonly Month[] {
  const begin = new Date(beginMs)
  const first = (after: number): Date => new Date(Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + after, 1))
  return Array.from({ length: MONTHS_BEFORE + MONTHS_AFTER }, (_, index) => {
    const after = index - MONTHS_BEFORE
    return { from: dayOf(first(after)), to: dayOf(new Date(first(after + 1).getTime() - 1)) }
  })
}

function localDay(atMs: number, timeZone: string): string {
  const format = DAYS.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone })
  DAYS.set(timeZone, format)
  return format.format(atMs)
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10)
}
