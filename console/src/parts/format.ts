const MICRO_DIGITS = 6

/** Numbers, money and times in the format of the reader's language and time zone. */
export type Format = ReturnType<typeof createFormat>

type Part = Pick<Intl.NumberFormatPart, 'type' | 'value'>

// oxlint-disable-next-line eslint/max-lines-per-function -- how each kind of value is written
export function createFormat(language: string, zone: string) {
  const locale = language === 'ru' ? 'ru-RU' : 'en-GB'
  // Making a formatter takes longer than drawing a row of a list, so each is made once.
  const numbers = remembered((options: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options))
  const times = remembered((options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options))
  const money = (currency: string, options: Intl.NumberFormatOptions): Intl.NumberFormat =>
    numbers({ style: 'currency', currency, currencyDisplay: 'narrowSymbol', ...options })
  const rubles = (options: Intl.NumberFormatOptions): Intl.NumberFormat => money('RUB', options)
  const rub = (value: number, options: Intl.NumberFormatOptions): string => rubles(options).format(value)
  const exact = { minimumFractionDigits: 2, maximumFractionDigits: MICRO_DIGITS }
  const time = (iso: string, options: Intl.DateTimeFormatOptions): string =>
    times({ timeZone: zone, ...options }).format(new Date(iso))
  const number = (value: number, digits = 0): string => numbers({ maximumFractionDigits: digits }).format(value)
  const longDay = (day: string, withYear: boolean): string =>
    times({ timeZone: 'UTC', day: 'numeric', month: 'long', ...(withYear ? { year: 'numeric' } : {}) }).format(
      new Date(`${day}T00:00:00Z`),
    )
  return {
    locale,
    zone,
    decimalMark:
      numbers({})
        .formatToParts(0.5)
        .find(({ type }) => type === 'decimal')?.value ?? '.',
    number,
    /** Rubles and kopecks; less than a kopeck has its first two digits. */
    money: (value: number): string => rub(value, kopecks(value)),
    /** The same for a change, with its sign. */
    moreMoney: (value: number): string => rub(value, { ...kopecks(value), signDisplay: 'exceptZero' }),
    /**
     * Rubles to the last micro-ruble, for bills and ledgers: nothing is rounded, so figures that are shown together add
     * up.
     */
    exactRubles: (value: number): string => rub(value, exact),
    /** An exact decimal of rubles with all its digits: price × tokens may have more digits than a JavaScript number. */
    exactMoney: (decimal: string): string =>
      exactRubles(decimal, rubles({ minimumFractionDigits: 1 }), numbers({}))
        .map(({ value }) => value)
        .join(''),
    /** A price in rubles, without needless zeros. */
    price: (value: string | number): string =>
      rub(Number(value), {
        minimumFractionDigits: 0,
        maximumFractionDigits: Math.abs(Number(value)) < 1 ? MICRO_DIGITS : 2,
      }),
    /** A provider's price in its currency. */
    cost: (amount: string | number, currency: string): string =>
      money(currency, { minimumFractionDigits: 0, maximumFractionDigits: MICRO_DIGITS }).format(Number(amount)),
    /** 12.3 thousand and the like, for tiles and axes. */
    compact: (value: number): string => numbers({ notation: 'compact', maximumFractionDigits: 1 }).format(value),
    compactMoney: (value: number): string =>
      rub(value, { notation: 'compact', minimumFractionDigits: 0, maximumFractionDigits: Math.abs(value) < 1 ? 4 : 1 }),
    percent: (share: number, digits = 1): string =>
      numbers({ style: 'percent', maximumFractionDigits: digits }).format(share),
    dateTime: (iso: string): string => time(iso, { dateStyle: 'medium', timeStyle: 'medium' }),
    date: (iso: string): string => time(iso, { dateStyle: 'medium' }),
    /** A `YYYY-MM-DD`, which is the same day in every time zone. */
    day: (day: string): string =>
      times({ timeZone: 'UTC', day: 'numeric', month: 'short' }).format(new Date(`${day}T00:00:00Z`)),
    /** The day, and the hour that begins. */
    hour: (iso: string): string => time(iso, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }),
    clock: (iso: string): string => time(iso, { hour: '2-digit', minute: '2-digit' }),
    /** The first and the last day of a period. The year is written once if both days are in it. */
    span: (from: string, to: string): { readonly from: string; readonly to: string } => ({
      from: longDay(from, from.slice(0, 4) !== to.slice(0, 4)),
      to: longDay(to, true),
    }),
    time: (iso: string): string => time(iso, { timeStyle: 'medium' }),
    /** The short form for a list: of today only the time, of other days the date too, of other years also the year. */
    moment: (iso: string): string => moment(iso, time),
    ago: (iso: string): string => ago(locale, iso),
    duration: (ms: number): string =>
      ms < 1_000
        ? `${number(ms)} ${language === 'ru' ? 'мс' : 'ms'}`
        : `${number(ms / 1_000, ms < 10_000 ? 2 : 1)} ${language === 'ru' ? 'с' : 's'}`,
    /** Compares two texts; numbers in them are compared by value. */
    compare: new Intl.Collator(locale, { numeric: true }).compare,
    /** The size of a file. */
    bytes: (count: number): string =>
      numbers(bytesStyle(count)).format(count < 1_000_000 ? count / 1_000 : count / 1_000_000),
  }
}

function kopecks(value: number): Intl.NumberFormatOptions {
  return value !== 0 && Math.abs(value) < 0.01 ? { maximumSignificantDigits: 2 } : {}
}

function bytesStyle(count: number): Intl.NumberFormatOptions {
  return {
    style: 'unit',
    unit: count < 1_000_000 ? 'kilobyte' : 'megabyte',
    maximumFractionDigits: count < 1_000 || count >= 1_000_000 ? 1 : 0,
  }
}

function moment(iso: string, time: (iso: string, options: Intl.DateTimeFormatOptions) => string): string {
  const now = new Date().toISOString()
  if (time(iso, { dateStyle: 'short' }) === time(now, { dateStyle: 'short' })) return time(iso, { timeStyle: 'medium' })
  const isThisYear = time(iso, { year: 'numeric' }) === time(now, { year: 'numeric' })
  const day = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const
  return time(iso, isThisYear ? day : { ...day, year: 'numeric' })
}

/** The digits of the decimal in the format of another amount with the same sign. */
function exactRubles(decimal: string, rubles: Intl.NumberFormat, whole: Intl.NumberFormat): readonly Part[] {
  const [integer = '', fraction = ''] = decimal.replace('-', '').split('.')
  return rubles.formatToParts(decimal.startsWith('-') ? -1.5 : 1.5).map(({ type, value }) => {
    if (type === 'integer') return { type, value: whole.format(BigInt(integer)) }
    if (type === 'decimal') return { type, value: fraction === '' ? '' : value }
    return { type, value: type === 'fraction' ? fraction : value }
  })
}

/** The time zone of a reader who has chosen none. */
export function browserZone(): string {
  zone ??= Intl.DateTimeFormat().resolvedOptions().timeZone
  return zone
}

/** Cached, since asking for it takes as long as drawing three rows of a list. */
let zone: string | undefined

function remembered<O, F>(make: (options: O) => F): (options: O) => F {
  const made = new Map<string, F>()
  return (options) => {
    const key = JSON.stringify(options)
    const known = made.get(key) ?? make(options)
    made.set(key, known)
    return known
  }
}

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

function ago(locale: string, iso: string): string {
  const seconds = (Date.parse(iso) - Date.now()) / 1_000
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  for (const [unit, size] of STEPS)
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit)
  return relative.format(Math.round(seconds), 'second')
}
