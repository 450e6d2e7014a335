export type Language = 'en' | 'ru'

const MICRO_DIGITS = 6

/** Formats of figures and times in a language, as the console shows them. */
export interface TextFormat {
  /** Formats an amount in rubles. */
  readonly money: (rubles: number) => string
  readonly number: (value: number) => string
  readonly time: (atMs: number) => string
  readonly quoted: (text: string) => string
}

export function textFormat(language: Language, timezone: string): TextFormat {
  const locale = language === 'ru' ? 'ru-RU' : 'en-GB'
  const rubles = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'RUB',
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: 2,
    maximumFractionDigits: MICRO_DIGITS,
  })
  const numbers = new Intl.NumberFormat(locale)
  const times = new Intl.DateTimeFormat(locale, {
    timeZone: timezone,
    dateStyle: 'medium',
    timeStyle: 'long',
  })
  return {
    money: (value) => rubles.format(value),
    number: (value) => numbers.format(value),
    time: (atMs) => times.format(new Date(atMs)),
    quoted: (text) => (language === 'ru' ? `«${text}»` : `“${text}”`),
  }
}
