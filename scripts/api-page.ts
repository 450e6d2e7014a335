import { errorTypeOf } from '../src/base/errors.ts'
import { PUBLIC_ROUTES } from '../src/api/reference/public-routes.ts'
import { ownErrorsOf } from '../src/api/reference/route-table.ts'
import { SCHEMA_NAMES } from '../src/api/reference/schema-names.ts'
import type { JsonSchema } from '../src/base/schema.ts'
import type { WireRoute } from '../src/http/wire-route.ts'
import { rulesText, typeText } from './schema-text.ts'

const BEGIN = '<!-- made by npm run docs -->'
const END = '<!-- end -->'
const SECTION = /^### ([A-Z]+ \/v1\/\S+)\n([\s\S]*?)(?=^#{2,3} |(?![\s\S]))/gm
const RECORDS = /^## Records\n[\s\S]*?(?=^## |(?![\s\S]))/m
/** Ids that belong to one owner; the examples of the page have placeholders. */
const PLACEHOLDER = /Vb3kQ9xT|^my-/
const EXAMPLE_CHARS_MAX = 500
/** Objects nested deeper are described in the row of their field. */
const DEPTH_MAX = 2

/** The page of the API: below the text of each section comes what its row in the contracts says. */
export function withRouteTables(page: string): string {
  const rows = new Map<string, WireRoute>(Object.entries(PUBLIC_ROUTES))
  const shown = new Map<JsonSchema, string>()
  const used = new Set<JsonSchema>()
  const whole = page.replaceAll(SECTION, (section: string, title: string, text: string) => {
    const name = routeOf(title, rows)
    const row = rows.get(name)
    if (row === undefined) throw new Error(`No route of the API is ${title}.`)
    const words = (text.split(BEGIN)[0] ?? '').trim()
    return `### ${title}\n\n${words}\n\n${BEGIN}\n\n${partsOf({ name, title, row, words }, shown, used).join('\n\n')}\n\n${END}\n\n`
  })
  return `${whole.replace(RECORDS, '').trimEnd()}\n\n${recordsPart(used)}`
}

/** The name of a row: `{id}` of the page is `:id` in the row, or `*id` at the end. */
function routeOf(title: string, rows: ReadonlyMap<string, WireRoute>): string {
  const [method = '', path = ''] = title.split(' ')
  const pattern = (name: string): string => name.replaceAll(/(?<=\/)[:*](\w+)/g, '{$1}')
  return [...rows.keys()].find((name) => pattern(name) === `${method} ${path}`) ?? ''
}

interface Section {
  /** As in the row: `GET /v1/videos/:id`. */
  readonly name: string
  /** As on the page: `GET /v1/videos/{id}`. */
  readonly title: string
  readonly row: WireRoute
  /** Written by hand. */
  readonly words: string
}

function partsOf(
  { name, title, row, words }: Section,
  shown: Map<JsonSchema, string>,
  used: Set<JsonSchema>,
): readonly string[] {
  // The section that explains the whole answer has the example as a shell command.
  const isFirst = 'media' in row.answer || !shown.has(row.answer)
  const needs = row.manages === true ? 'Needs a management key.' : 'Needs an API key.'
  const parts = [row.open === true ? 'Needs no key.' : `${needs}${isPaid(title, row) ? ' Is paid for.' : ''}`]
  const parameters = [
    ...[...title.matchAll(/\{(\w+)\}/g)].map(([, part = '']) => `| \`${part}\` | path | string | required |`),
    ...Object.entries(row.query?.properties ?? {}).map(
      ([part, schema]) =>
        `| \`${part}\` | query | ${typeText(schema, 'sent')} | ${rulesText(schema, row.query?.required?.includes(part) ?? false)} |`,
    ),
  ]
  if (parameters.length > 0) parts.push(table('Parameter | In | Type | Rules', parameters))
  if (row.body !== undefined)
    parts.push(once(row.body, title, shown, 'Body', () => fields(row.body ?? {}, 'sent', used)))
  parts.push(answerPart(title, row, shown, used))
  const errors = ownErrorsOf(servedAs(title, row), row).map((error) => `\`${errorTypeOf(error)}\``)
  if (errors.length > 0) parts.push(`Errors: ${[...new Set(errors)].join(', ')}.`)
  const example = words.includes('```sh') ? null : exampleOf(name, row, isFirst)
  return example === null ? parts : [...parts, example]
}

function isPaid(title: string, { body, free }: WireRoute): boolean {
  return title.startsWith('POST ') && body !== undefined && free === undefined
}

function servedAs(title: string, row: WireRoute): Parameters<typeof ownErrorsOf>[0] {
  const [method = ''] = title.split(' ')
  return { method, ...(isPaid(title, row) ? { priority: 'paid' } : {}) }
}

function answerPart(
  title: string,
  { answer, status = 200, alsoStatus }: WireRoute,
  shown: Map<JsonSchema, string>,
  used: Set<JsonSchema>,
): string {
  const statuses = [status, ...(alsoStatus === undefined ? [] : [alsoStatus])].join(' or ')
  if ('media' in answer) return `Answers ${statuses}, \`${answer.media}\`.`
  return once(answer, title, shown, `Answer, ${statuses}`, () => fields(answer, 'answered', used))
}

/** A record that an earlier section shows is only named. */
function once(
  schema: JsonSchema,
  title: string,
  shown: Map<JsonSchema, string>,
  what: string,
  make: () => string,
): string {
  const before = shown.get(schema)
  if (before !== undefined) return `${what}: as of \`${before}\`.`
  shown.set(schema, title)
  return `${what}:\n\n${make()}`
}

type Way = 'sent' | 'answered'

function fields(schema: JsonSchema, way: Way, used: Set<JsonSchema>): string {
  const choices = schema.properties === undefined ? (schema.anyOf ?? []) : []
  if (choices.length > 0) return choices.map((choice) => fields(choice, way, used)).join('\n\nor\n\n')
  return table(way === 'sent' ? 'Field | Type | Rules' : 'Answer | Type | Meaning', fieldRows(schema, way, used, '', 1))
}

function fieldRows(
  schema: JsonSchema,
  way: Way,
  used: Set<JsonSchema>,
  path: string,
  depth: number,
): readonly string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const isRequired = schema.required?.includes(name) === true
    const rules = rulesText(field, way === 'sent' ? isRequired : null)
    const optional = way === 'answered' && !isRequired ? 'may be absent' : ''
    const said = [optional, rules].filter((text) => text !== '').join('; ')
    const type = typeText(field, way)
    const row = (text: string): string => `| \`${path}${name}\` | ${text} | ${said} |`
    const [record, suffix] = recordIn(field)
    if (record === null) return [row(type)]
    if (SCHEMA_NAMES.has(record)) {
      noteUsed(record, used)
      return [row(type)]
    }
    if (depth >= DEPTH_MAX) return [row(type)]
    // The rows below list its keys.
    const plain = type.replace(/ \(.*?\)/, '')
    return [row(plain), ...fieldRows(record, way, used, `${path}${name}${suffix}.`, depth + 1)]
  })
}

/** The object in a field, or in the items of a list. */
function recordIn(schema: JsonSchema): readonly [record: JsonSchema | null, suffix: string] {
  if (schema.properties !== undefined) return [schema, '']
  if (schema.items !== undefined) {
    const [record, suffix] = recordIn(schema.items)
    return [record, `[]${suffix}`]
  }
  const [only, ...others] = schema.anyOf?.filter(({ type }) => type !== 'null') ?? []
  return only === undefined || others.length > 0 ? [null, ''] : recordIn(only)
}

/** Adds a record, and the records in its fields. */
function noteUsed(record: JsonSchema, used: Set<JsonSchema>): void {
  if (used.has(record)) return
  used.add(record)
  for (const field of Object.values(record.properties ?? {})) {
    const [inner] = recordIn(field)
    if (inner !== null && SCHEMA_NAMES.has(inner)) noteUsed(inner, used)
  }
}

function recordsPart(used: ReadonlySet<JsonSchema>): string {
  const parts = [...used].map((record) => {
    const about = record.description === undefined ? '' : `${record.description}\n\n`
    return `### ${SCHEMA_NAMES.get(record)}\n\n${about}${fields(record, 'answered', new Set())}`
  })
  return `## Records\n\nObjects that several routes have.\n\n${parts.join('\n\n')}\n`
}

function table(head: string, rows: readonly string[]): string {
  return `| ${head} |\n|${'---|'.repeat(head.split('|').length)}\n${rows.join('\n')}`
}

/** A shell command if it works as it is; else the line of the request. */
function exampleOf(routeName: string, { example, open }: WireRoute, isFirst: boolean): string | null {
  // A file's example would be its bytes.
  if (example === undefined || JSON.stringify(example).length > EXAMPLE_CHARS_MAX) return null
  const [method = '', pattern = ''] = routeName.split(' ')
  const { path = {}, query = {}, body } = example
  const search = new URLSearchParams(query).toString()
  const filled = pattern.replaceAll(/(?<=\/)([:*])(\w+)/g, (_all, sign: string, name: string) =>
    sign === '*' ? (path[name] ?? '') : encodeURIComponent(path[name] ?? ''),
  )
  const target = `${filled}${search === '' ? '' : `?${search}`}`
  if (!isFirst || [...Object.values(path), ...Object.values(query)].some((value) => PLACEHOLDER.test(value)))
    return `\`\`\`http\n${method} ${target}${body === undefined ? '' : `\n\n${JSON.stringify(body)}`}\n\`\`\``
  const key = open === true ? '' : ' -H "Authorization: Bearer $KEY"'
  const address = search === '' ? `$BASE${target}` : `"$BASE${target}"`
  const sent =
    body === undefined
      ? ''
      : ` -H "Content-Type: application/json" \\\n  -d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`
  return `\`\`\`sh\ncurl ${address}${method === 'DELETE' ? ' -X DELETE' : ''}${key}${sent}\n\`\`\``
}
