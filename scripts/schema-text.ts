import { SCHEMA_NAMES } from '../src/api/reference/openapi.ts'
import type { JsonSchema } from '../src/base/schema.ts'

/** The type of a field in words. null in a request means absent (wire.md D-0.3), so it is left out there. */
export function typeText(schema: JsonSchema, way: 'sent' | 'answered'): string {
  const choices = [...new Set(choicesOf(schema))].filter((choice) => way === 'answered' || choice !== 'null')
  return choices.length === 0 ? 'any' : choices.join(' or ')
}

function choicesOf(schema: JsonSchema): readonly string[] {
  const name = SCHEMA_NAMES.get(schema)
  if (name !== undefined && schema.properties !== undefined) return [`[${name}](#${name.toLowerCase()})`]
  const { type, anyOf, items, properties } = schema
  if (schema.const !== undefined) return [`\`${JSON.stringify(schema.const)}\``]
  if (properties === undefined && anyOf !== undefined) return anyOf.flatMap(choicesOf)
  if (typeof type === 'object') return type.flatMap((one) => choicesOf({ ...schema, type: one }))
  if (type === 'array')
    return [`array of ${items === undefined ? 'any' : choicesOf(items).map(plural).join(' or ')}${sizeText(schema)}`]
  if (type === 'object' && properties !== undefined) return [`object (${keysText(schema)})`]
  return [type ?? 'any']
}

function plural(type: string): string {
  return type.replace(/^(string|integer|number|boolean|object|array)\b/, '$1s')
}

function keysText({ properties = {} }: JsonSchema): string {
  return Object.keys(properties)
    .map((name) => `\`${name}\``)
    .join(', ')
}

/** Whether a field is required (null: left out), its meaning, and its bounds. */
export function rulesText(schema: JsonSchema, isRequired: boolean | null): string {
  const bounds = [...(isRequired === true ? ['required'] : []), ...boundsOf(schema)].join('; ')
  const about = aboutOf(schema).join(' ')
  return [bounds, about]
    .filter((text) => text !== '')
    .join('. ')
    .replace(/\.$/, '')
    .replaceAll('|', String.raw`\|`)
}

function aboutOf({ description, anyOf, properties }: JsonSchema): readonly string[] {
  if (description !== undefined) return [description]
  return properties === undefined ? [...new Set((anyOf ?? []).flatMap(aboutOf))] : []
}

function boundsOf(schema: JsonSchema): readonly string[] {
  const { anyOf, properties } = schema
  if (properties !== undefined) return []
  if (anyOf !== undefined) return [...new Set(anyOf.flatMap(boundsOf))]
  return [choiceText(schema), rangeText(schema), lengthText(schema)].filter((text) => text !== '')
}

function choiceText({ enum: choices }: JsonSchema): string {
  return choices === undefined ? '' : choices.map((choice) => `\`${String(choice)}\``).join(', ')
}

const figure = (value: number): string => value.toLocaleString('en')

function rangeText({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: JsonSchema): string {
  const most = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : exclusiveMaximum
  const least = minimum !== undefined && minimum > -Number.MAX_SAFE_INTEGER ? minimum : undefined
  if (exclusiveMinimum !== undefined)
    return `above ${figure(exclusiveMinimum)}${most === undefined ? '' : `, to ${figure(most)}`}`
  if (least !== undefined) return most === undefined ? `from ${figure(least)}` : `${figure(least)} to ${figure(most)}`
  return most === undefined ? '' : `at most ${figure(most)}`
}

function lengthText({ minLength = 0, maxLength }: JsonSchema): string {
  if (maxLength === undefined) return minLength === 1 ? 'not empty' : ''
  return minLength === 0 ? `at most ${figure(maxLength)} characters` : `${minLength} to ${figure(maxLength)} characters`
}

function sizeText({ minItems = 0, maxItems }: JsonSchema): string {
  if (maxItems === undefined) return minItems === 0 ? '' : `, at least ${minItems}`
  return minItems === 0 ? `, at most ${figure(maxItems)}` : `, ${minItems} to ${figure(maxItems)}`
}
