import type { Clock } from '../base/clock.ts'
import { type Decimal, add, compare, decimalText, multiply, parseDecimal } from '../base/money.ts'
import { ownValue } from '../base/own-value.ts'
import type { EventAction } from '../ledger/event-action.ts'
import type { EventRecord, EventStore } from '../store/events/event-store.ts'

/** A fetched rate that moved too far to be trusted, and the rate that stays. */
interface RefusedRate {
  readonly currency: string
  readonly rate: string
  readonly held: string
}

export interface MergedRates {
  /** The rates in force, by currency. */
  readonly rates: Readonly<Record<string, string>>
  readonly changed: boolean
  readonly refused: readonly RefusedRate[]
}

const PERCENT_MAX = 30n

/**
 * The fetched rates over the current ones; a rate that moved by more than 30 % from the last good one stays unchanged.
 */
export function mergeRates(
  lastGood: Readonly<Record<string, string>>,
  held: Readonly<Record<string, string>>,
  fetched: Readonly<Record<string, string>>,
): MergedRates {
  const rates: Record<string, string> = { ...held }
  const refused: RefusedRate[] = []
  for (const [currency, text] of Object.entries(fetched)) {
    const before = ownValue(lastGood, currency)
    if (before !== undefined && movedTooFar(before, text)) refused.push({ currency, rate: text, held: before })
    else rates[currency] = text
  }
  const changed = Object.entries(rates).some(([currency, text]) => ownValue(held, currency) !== text)
  return { rates, changed, refused }
}

export function refusalText({ currency, rate, held }: RefusedRate): string {
  return `the rate of ${currency} is refused: ${rate} is more than ${PERCENT_MAX} % from the last good ${held}`
}

function movedTooFar(before: string, after: string): boolean {
  const old = parseDecimal(before)
  const now = parseDecimal(after)
  if (old === null || now === null) return true
  const change = add(now, { digits: -old.digits, scale: old.scale })
  const size: Decimal = { digits: change.digits < 0n ? -change.digits : change.digits, scale: change.scale }
  return compare(multiply(size, { digits: 100n, scale: 0 }), multiply(old, { digits: PERCENT_MAX, scale: 0 })) > 0
}

const FIELD_CHARS_MAX = 40
const CURRENCIES_MAX = 500

/**
 * Exact RUB per unit of each currency from the Central Bank's daily XML. The text may be decoded as Latin-1: only names
 * use windows-1251, and they are not read. null = a different document.
 */
export function parseDailyRates(xml: string): Readonly<Record<string, string>> | null {
  if (!/<ValCurs\b/.test(xml) || !/<\/ValCurs>\s*$/.test(xml)) return null
  const rates: Record<string, string> = {}
  for (const entry of xml.split('</Valute>').slice(0, -1)) {
    if (!/<Valute\b/.test(entry)) continue
    const currency = fieldOf(entry, 'CharCode')
    const rate = unitRate(entry)
    if (rate !== null && rate.digits > 0n && /^[A-Z]{3}$/.test(currency) && currency !== 'RUB')
      rates[currency] = decimalText(rate)
  }
  const found = Object.keys(rates).length
  return found === 0 || found > CURRENCIES_MAX ? null : rates
}

/** Value / Nominal if that is exact, as it is for any power of ten; else the bank's published rate per unit. */
function unitRate(entry: string): Decimal | null {
  const value = decimalOf(fieldOf(entry, 'Value'))
  const nominal = fieldOf(entry, 'Nominal')
  if (value !== null && /^10{0,9}$/.test(nominal))
    return parseDecimal(decimalText({ digits: value.digits, scale: value.scale + nominal.length - 1 }))
  return decimalOf(fieldOf(entry, 'VunitRate'))
}

function decimalOf(text: string): Decimal | null {
  return /^\d{1,12}(,\d{1,12})?(E-?\d{1,2})?$/.test(text) ? parseDecimal(text.replace(',', '.')) : null
}

function fieldOf(entry: string, name: string): string {
  const [, found = ''] = entry.split(`<${name}>`, 2)
  const text = found.split(`</${name}>`, 1)[0]?.trim() ?? ''
  return text.length > FIELD_CHARS_MAX || text.includes('<') ? '' : text
}

/** Why the rates in force are not those of the Central Bank. */
export type RateTrouble =
  | { readonly kind: 'rates_failed'; readonly reason: string }
  | { readonly kind: 'rates_refused'; readonly rates: readonly RefusedRate[] }

const ACTIONS = { rates_failed: 'rates.failed', rates_refused: 'rates.refused' } as const
const MENDED = 'rates.mended'
const ALL: readonly EventAction[] = [...Object.values(ACTIONS), MENDED]
const ACTOR = 'cbr'
const OBJECT = 'rates'

type Events = Pick<EventStore, 'append' | 'newest'>

/**
 * Writes an event when a trouble begins, changes or ends, and none while it lasts. So the newest event is the current
 * state, on every node and after a restart.
 */
export async function noteRates(events: Events, clock: Clock, trouble: RateTrouble | null): Promise<void> {
  const before = await events.newest(ALL)
  if (trouble === null) {
    if (before === null || before.action === MENDED) return
    return append(events, clock, MENDED, null)
  }
  if (
    before?.action === ACTIONS[trouble.kind] &&
    (trouble.kind === 'rates_failed' || currencies(readTrouble(before)) === currencies(trouble))
  )
    return
  await append(events, clock, ACTIONS[trouble.kind], trouble)
}

/** The current trouble and its beginning. */
export async function currentRateTrouble(
  events: Pick<EventStore, 'newest'>,
): Promise<(RateTrouble & { readonly sinceMs: number }) | null> {
  const newest = await events.newest(ALL)
  const trouble = newest === null ? null : readTrouble(newest)
  return newest === null || trouble === null ? null : { ...trouble, sinceMs: newest.atMs }
}

async function append(events: Events, clock: Clock, action: EventAction, trouble: RateTrouble | null): Promise<void> {
  await events.append({
    atMs: clock.now(),
    actor: ACTOR,
    ip: null,
    action,
    object: OBJECT,
    before: null,
    after: trouble === null ? null : JSON.stringify(trouble),
  })
}

function readTrouble({ after }: EventRecord): RateTrouble | null {
  // Written by `append` into a table whose rows never change.
  return after === null ? null : (JSON.parse(after) as RateTrouble)
}

function currencies(trouble: RateTrouble | null): string {
  return trouble?.kind === 'rates_refused'
    ? trouble.rates
        .map(({ currency }) => currency)
        .toSorted()
        .join(' ')
    : ''
}
