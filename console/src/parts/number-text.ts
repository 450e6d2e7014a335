/** The values that a field accepts. */
export interface NumberBounds {
  /** Digits after the decimal mark; 0 = whole numbers. */
  readonly decimals: number
  readonly least?: number
  readonly most?: number
}

/**
 * `value` is a plain decimal such as `-1234.5`. `problem` is a key of the texts under `number`, and `shown` its values.
 */
type NumberReading =
  | { readonly value: string }
  | {
      readonly problem: 'invalid' | 'ambiguous' | 'whole' | 'decimals' | 'least' | 'most'
      readonly shown: Readonly<Record<string, string | number>>
    }

const DIGITS_MAX = 15
const TEXT_MAX = 60
/** Spaces of every width and apostrophes: people copy figures from tables, letters and bills. */
const SPACE = /[\s\u00a0\u2009\u202f']/
/** A currency is removed only before or after the number: `5₽60` is not 560. */
const UNIT_BEFORE = /^([-\u2212\s]*)(?:₽|rub\.?|руб(?:\.|л[а-я]{0,3})?|\$|€)/iu
const UNIT_AFTER = /(?:₽|rub\.?|руб(?:\.|л[а-я]{0,3})?|\$|€)$/iu

/** Whether a text is a plain decimal, as `readNumber` gives it. */
export function isPlainNumber(text: string): boolean {
  return /^-?\d+(?:\.\d+)?$/.test(text)
}

/**
 * Reads a number as people write it: `1 234,56`, `1,234.56`, `1.234,56 ₽`. A text that can mean two numbers (`1,234`)
 * is a problem, never a guess. A number out of bounds is a problem too, and is never changed to fit.
 */
export function readNumber(text: string, { decimals, least, most }: NumberBounds): NumberReading {
  if (text.length > TEXT_MAX) return { problem: 'invalid', shown: { text: `${text.slice(0, TEXT_MAX)}…` } }
  const bare = text.trim().replace(UNIT_BEFORE, '$1').replace(UNIT_AFTER, '').trim().replaceAll('\u2212', '-')
  const read = plainOf(bare)
  if (read === null) return { problem: 'invalid', shown: { text } }
  if (read === 'ambiguous') {
    const digits = bare.replaceAll(/[.,]/g, '')
    const fraction = bare.replace(',', '.')
    return {
      problem: 'ambiguous',
      shown: {
        text,
        whole: digits,
        fraction: decimals > 3 ? `${fraction}0` : fraction.slice(0, fraction.indexOf('.') + 1 + decimals),
      },
    }
  }
  const [whole = '', fraction = ''] = read.split('.')
  if (whole.replace('-', '').length + fraction.length > DIGITS_MAX) return { problem: 'invalid', shown: { text } }
  if (fraction.length > decimals)
    return decimals === 0
      ? { problem: 'whole', shown: { text } }
      : { problem: 'decimals', shown: { text, count: decimals } }
  const value = Number(read)
  if (least !== undefined && value < least) return { problem: 'least', shown: { text, least } }
  if (most !== undefined && value > most) return { problem: 'most', shown: { text, most } }
  return { value: read }
}

/** A plain decimal without needless zeros, or 'ambiguous'; null = not a number. */
function plainOf(bare: string): string | null {
  const sign = bare.startsWith('-') ? '-' : ''
  const rest = sign === '' ? bare : bare.slice(1).trim()
  if (!/^[\d.,\s\u00a0\u2009\u202f']+$/.test(rest) || !/^[\d.,]/.test(rest) || !/\d$/.test(rest)) return null
  const marks = new Set(rest.match(/[.,]/g) ?? [])
  const decimal =
    marks.size === 2 ? rest.charAt(Math.max(rest.lastIndexOf('.'), rest.lastIndexOf(','))) : single(rest, [...marks][0])
  if (decimal === 'ambiguous') return decimal
  const parts = decimal === null ? [rest] : rest.split(decimal)
  if (parts.length > 2) return null
  const whole = ungrouped(parts[0] ?? '')
  const fraction = parts[1] ?? ''
  if (whole === null || !/^\d*$/.test(fraction)) return null
  const digits = whole.replace(/^0+(?=\d)/, '')
  const places = trimmed(fraction)
  return `${sign}${digits === '' ? '0' : digits}${places === '' ? '' : `.${places}`}`
}

/**
 * The decimal mark of a text in which only one kind of mark occurs; null = the marks group digits, or there are none.
 */
function single(rest: string, mark: string | undefined): string | null {
  if (mark === undefined) return null
  const parts = rest.split(mark)
  if (parts.length > 2) return null
  const [before = '', after = ''] = parts
  const grouped = SPACE.test(before)
  // `0,125` and `1 234,567` have only one meaning, `1,234` has two.
  return after.length === 3 && !grouped && /^[1-9]\d{0,2}$/.test(before) ? 'ambiguous' : mark
}

/** Digits without their group separators; null = a group does not have three digits. */
function ungrouped(text: string): string | null {
  if (/^\d*$/.test(text)) return text
  const groups = text.split(/[\s\u00a0\u2009\u202f'.,]/)
  return groups.every((group, index) => (index === 0 ? /^\d{1,3}$/ : /^\d{3}$/).test(group)) ? groups.join('') : null
}

function trimmed(fraction: string): string {
  let end = fraction.length
  while (end > 0 && fraction[end - 1] === '0') end -= 1
  return fraction.slice(0, end)
}

/** The number that a field has; null = it is empty. */
export function numberOf(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}

/** A number from the server as a plain decimal; small numbers have no exponent. */
export function plainNumber(value: number): string {
  const text = String(value)
  return text.includes('e') ? trimmedNumber(value.toFixed(18)) : text
}

function trimmedNumber(text: string): string {
  const [whole = '', fraction = ''] = text.split('.')
  const places = trimmed(fraction)
  return places === '' ? whole : `${whole}.${places}`
}

/** A plain decimal in the reader's notation, in groups of three digits. `readNumber` reads the same number from it. */
export function writtenNumber(plain: string, decimalMark: string): string {
  if (!isPlainNumber(plain)) return plain
  const [whole = '', fraction] = plain.split('.')
  const groups = grouped(whole)
  return fraction === undefined ? groups : `${groups}${decimalMark}${fraction.length === 3 ? `${fraction}0` : fraction}`
}

/** Digits in groups of three, counted from the end. */
function grouped(whole: string): string {
  const sign = whole.startsWith('-') ? '-' : ''
  const digits = whole.slice(sign.length)
  const first = digits.length % 3
  const groups = first === 0 ? [] : [digits.slice(0, first)]
  for (let at = first; at < digits.length; at += 3) groups.push(digits.slice(at, at + 3))
  return sign + groups.join('\u00a0')
}
