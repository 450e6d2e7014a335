import { microFromRubles, parseDecimal, shift } from '../base/money.ts'
import type { JsonSchema } from '../base/schema.ts'
import { UsageError } from './command.ts'

/** How a field is written on the command line. */
interface Form {
  /** The name of its value in the help. */
  readonly value: string
  readonly read: (text: string, name: string) => unknown
}

/** The value of an option by its schema. `none` stands for null where that is allowed. */
export function readValue(name: string, text: string, schema: JsonSchema): unknown {
  return isNullable(schema) && text === 'none' ? null : formOf(schema).read(text, name)
}

/** The name of the value and what it means, for the help. */
export function valueHelp(schema: JsonSchema): { readonly value: string; readonly help: string } {
  const { description = '' } = plain(schema)
  const help = [schema.description ?? description, isNullable(schema) ? 'none = null' : '']
  return {
    value: formOf(schema).value,
    help: help
      .filter((part) => part !== '')
      .join(' ')
      .replaceAll('\n', ' '),
  }
}

function isNullable({ type, anyOf = [] }: JsonSchema): boolean {
  return type === 'null' || (Array.isArray(type) && type.includes('null')) || anyOf.some(isNullable)
}

/** The schema without its null. */
function plain(schema: JsonSchema): JsonSchema {
  const others = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  const [only] = others
  if (only !== undefined && others.length === 1) return plain(only)
  const type = Array.isArray(schema.type) ? schema.type.find((name) => name !== 'null') : schema.type
  return type === undefined ? schema : { ...schema, type }
}

function formOf(given: JsonSchema): Form {
  const schema = plain(given)
  const orNone = isNullable(given) ? ', or none' : ''
  const must = (what: string, name: string, text: string): UsageError =>
    new UsageError(`${name} must be ${what}${orNone}, got '${text}'`)
  if (schema.enum !== undefined) {
    const choices = schema.enum.map(String)
    return {
      value: choices.length > 6 ? 'NAME' : choices.join('|'),
      read: (text, name) => {
        if (choices.includes(text)) return text
        throw must(`one of ${choices.join(', ')}`, name, text)
      },
    }
  }
  switch (schema.type) {
    case 'string':
      return {
        value: schema.format === 'date-time' ? 'TIME' : schema.format === 'date' ? 'DAY' : 'TEXT',
        read: (text) => text,
      }
    case 'boolean':
      return {
        value: 'true|false',
        read: (text, name) => {
          if (text === 'true' || text === 'false') return text === 'true'
          throw must('true or false', name, text)
        },
      }
    case 'integer':
      return {
        value: 'N',
        read: (text, name) => {
          const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
          const { minimum = 0 } = schema
          if (value >= minimum) return value
          throw must(`a whole number of at least ${minimum}`, name, text)
        },
      }
    case 'number':
      return {
        value: schema.format === 'rubles' ? 'RUB' : 'N',
        read: (text, name) => decimal(text, name, schema, must),
      }
    case 'array':
      return schema.items?.type === 'string' ? textList(schema.items, must) : json(schema, must)
    default:
      return isRate(schema) ? { value: 'N/SECONDS', read: (text, name) => rate(text, name, must) } : json(schema, must)
  }
}

type Must = (what: string, name: string, text: string) => UsageError

/** JSON carries a number as a double, so the double must equal the typed amount exactly. */
function decimal(text: string, name: string, { format }: JsonSchema, must: Must): number {
  const value = /^-?\d{1,10}(?:\.\d{1,6})?$/.test(text) ? parseDecimal(text.replace('-', '')) : null
  if (value !== null && microFromRubles(Math.abs(Number(text))) === shift(value, 6).digits) return Number(text)
  throw must(
    `${format === 'rubles' ? 'an amount in RUB' : 'a number'} with at most 6 decimals, such as 100 or 0.5`,
    name,
    text,
  )
}

function textList({ enum: choices }: JsonSchema, must: Must): Form {
  return {
    value: 'A,B',
    read: (text, name) => {
      const items = commaList(text)
      const wrong = choices === undefined ? undefined : items.find((item) => !choices.includes(item))
      if (wrong === undefined) return items
      throw must(`a comma list of ${choices?.join(', ')}`, name, wrong)
    },
  }
}

/** A list in JSON is accepted too, since scripts often have one. */
function commaList(text: string): readonly string[] {
  const list: unknown = text.startsWith('[') ? parsedJson(text) : null
  if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}

function isRate({ properties = {} }: JsonSchema): boolean {
  return Object.keys(properties).join(' ') === 'requests window'
}

function rate(text: string, name: string, must: Must): unknown {
  const [, requests, window] = /^(\d{1,6})\/(\d{1,5})$/.exec(text) ?? []
  if (requests === undefined || window === undefined) throw must('requests/seconds such as 300/60', name, text)
  return { requests: Number(requests), window: Number(window) }
}

function json(_schema: JsonSchema, must: Must): Form {
  return {
    value: 'JSON',
    read: (text, name) => {
      try {
        return JSON.parse(text) as unknown
      } catch {
        throw must('JSON', name, text.slice(0, 80))
      }
    },
  }
}
