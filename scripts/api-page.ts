import { errorTypeOf } from '../src/base/errors.ts'
import { PUBLIC_ROUTES } from '../src/api/reference/public-routes.ts'
import { ownErrorsOf } from '../src/api/reference/route-table.ts'
import { SCHEMA_NAMES } from '../src/api/reference/openapi.ts'
import type { JsonSchema } from '../src/base/schema.ts'
import type { WireRoute } from '../src/base/wire-route.ts'
import { rulesText, typeText } from './schema-text.ts'

/** The generated part of a section begins with the line that says which key a call needs. */
const BEGIN = /^.*\bNeeds (?:an API key|a management key|no key)\./m
const SECTION = /^### ([A-Z]+ \/v1\/\S+)\n([\s\S]*?)(?=^#{2,3} |(?![\s\S]))/gm
const RECORDS = /^## Records\n[\s\S]*?(?=^## |(?![\s\S]))/m
/** Ids that belong to one owner, for which the examples of the page have placeholders. */
const PLACEHOLDER = /Vb3kQ9xT|^my-/
const EXAMPLE_CHARS_MAX = 500
/** Objects that are nested deeper are described in the row of their field. */
const DEPTH_MAX = 2

/** The page of the API. Below the handwritten text of each section comes what the contract of its route says. */
export function withRouteTables(page: string): string {
  const rows = new Map<string, WireRoute>(Object.entries(PUBLIC_ROUTES))
  const shown: Shown = { records: new Map(), rows: new Map() }
  const used = new Set<JsonSchema>()
  const whole = page.replaceAll(SECTION, (section: string, title: string, text: string) => {
    const name = routeOf(title, rows)
    const row = rows.get(name)
    if (row === undefined) throw new Error(`No route of the API is ${title}.`)
    const words = (text.split(BEGIN)[0] ?? '').trim()
    const parts = [
      `### ${title}`,
      ...(words === '' ? [] : [words]),
      ...partsOf({ name, title, row, words }, shown, used),
    ]
    return `${parts.join('\n\n')}\n\n`
  })
  return `${whole.replace(RECORDS, '').trimEnd()}\n\n${recordsPart(used, shown)}`
}

/** The name of a route in the table: `{id}` on the page is `:id` in the name, or `*id` at its end. */
function routeOf(title: string, rows: ReadonlyMap<string, WireRoute>): string {
  const [method = '', path = ''] = title.split(' ')
  const pattern = (name: string): string => name.replaceAll(/(?<=\/)[:*](\w+)/g, '{$1}')
  return [...rows.keys()].find((name) => pattern(name) === `${method} ${path}`) ?? ''
}

/** What earlier sections show: whole records, and rows of tables, each with the title of its section. */
interface Shown {
  readonly records: Map<JsonSchema, string>
  readonly rows: Map<string, string>
}

interface Section {
  /** As in the table of routes: `GET /v1/videos/:id`. */
  readonly name: string
  /** As on the page: `GET /v1/videos/{id}`. */
  readonly title: string
  readonly row: WireRoute
  /** Written by hand; '' = the route's summary is used. */
  readonly words: string
}

function partsOf({ name, title, row, words }: Section, shown: Shown, used: Set<JsonSchema>): readonly string[] {
  // Only the section that explains the whole answer has its example as a shell command.
  const isFirst = 'media' in row.answer || !shown.records.has(row.answer)
  // Parameters of the path are in the title.
  const parameters = Object.entries(row.query?.properties ?? {}).map(
    ([part, schema]) =>
      `| \`${part}\` | ${typeText(schema, 'sent')} | ${rulesText(schema, row.query?.required?.includes(part) ?? false)} |`,
  )
  const parts = [words === '' ? `${row.summary} ${firstLine(title, row)}` : firstLine(title, row)]
  if (parameters.length > 0) parts.push(table('Of the query | Type | Rules', parameters))
  const { body } = row
  if (body !== undefined)
    parts.push(once(body, title, shown, 'Body', () => fields(body, 'sent', used, { shown, title })))
  parts.push(answerPart(title, row, shown, used))
  const example = words.includes('```sh') ? null : exampleOf(name, row, isFirst)
  return example === null ? parts : [...parts, example]
}

function firstLine(title: string, row: WireRoute): string {
  const needs = row.manages === true ? 'Needs a management key.' : 'Needs an API key.'
  const who = row.open === true ? 'Needs no key.' : `${needs}${isPaid(title, row) ? ' Is paid for.' : ''}`
  const errors = new Set(ownErrorsOf(servedAs(title, row), row).map((error) => `\`${errorTypeOf(error)}\``))
  return errors.size === 0 ? who : `${who} Errors: ${[...errors].join(', ')}.`
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
  shown: Shown,
  used: Set<JsonSchema>,
): string {
  const statuses = [status, ...(alsoStatus === undefined ? [] : [alsoStatus])].join(' or ')
  if ('media' in answer) return `Answers ${statuses}, \`${answer.media}\`.`
  return once(answer, title, shown, `Answer, ${statuses}`, () => fields(answer, 'answered', used, { shown, title }))
}

/** If an earlier section shows the record, it is only named. */
function once(schema: JsonSchema, title: string, shown: Shown, what: string, make: () => string): string {
  const before = shown.records.get(schema)
  if (before !== undefined) return `${what}: as of \`${before}\`.`
  shown.records.set(schema, title)
  const text = make()
  // The head of a table names what the table describes.
  return text.startsWith('|') ? text.replace(/^\| \w+/, `| ${what}`) : `${what}: ${text}`
}

type Way = 'sent' | 'answered'

interface Place {
  readonly shown: Shown
  readonly title: string
}

function fields(schema: JsonSchema, way: Way, used: Set<JsonSchema>, place: Place): string {
  const choices = schema.properties === undefined ? (schema.anyOf ?? []) : []
  if (choices.length > 0 && choices.every((choice) => SCHEMA_NAMES.has(choice))) {
    for (const choice of choices) noteUsed(choice, used)
    return `${typeText(schema, way)}.`
  }
  if (choices.length > 0) return choices.map((choice) => fields(choice, way, used, place)).join('\n\nor\n\n')
  return fieldsText(fieldRows(schema, way, used, '', 1), way, place)
}

interface FieldRow {
  readonly name: string
  readonly type: string
  /** '' = the name explains itself. */
  readonly said: string
}

/** From this number on, fields that the same earlier section explains are named together. */
const SAME_MIN = 2

/**
 * A table of the fields that need a description, one line for fields that need none, and one for fields that an earlier
 * section explains.
 */
function fieldsText(rows: readonly FieldRow[], way: Way, { shown, title }: Place): string {
  const lineOf = ({ name, type, said }: FieldRow): string => `| \`${name}\` | ${type} | ${said} |`
  const sections = Map.groupBy(
    rows.filter(({ said }) => said !== ''),
    (row) => shown.rows.get(lineOf(row)) ?? title,
  )
  const known = [...sections].filter(([section, same]) => section !== title && same.length >= SAME_MIN)
  const elsewhere = new Set(known.flatMap(([, same]) => same))
  const own = rows.filter((row) => row.said !== '' && !elsewhere.has(row))
  for (const row of own) if (!shown.rows.has(lineOf(row))) shown.rows.set(lineOf(row), title)
  const plain = rows.filter(({ said }) => said === '').map(({ name, type }) => `\`${name}\` (${type})`)
  return [
    own.length === 0 ? '' : table(way === 'sent' ? 'Field | Type | Rules' : 'Answer | Type | Meaning', own.map(lineOf)),
    ...known.map(([section, same]) => `As of \`${section}\`: ${same.map(({ name }) => `\`${name}\``).join(', ')}.`),
    plain.length === 0 ? '' : `${rows.length === plain.length ? '' : 'Also '}${plain.join(', ')}.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function fieldRows(
  schema: JsonSchema,
  way: Way,
  used: Set<JsonSchema>,
  path: string,
  depth: number,
): readonly FieldRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const isRequired = schema.required?.includes(name) === true
    const rules = rulesText(field, way === 'sent' ? isRequired : null)
    const optional = way === 'answered' && !isRequired ? 'may be absent' : ''
    const type = typeText(field, way)
    const row = (text: string): FieldRow => ({
      name: `${path}${name}`,
      type: optional === '' || rules !== '' ? text : `${text}, ${optional}`,
      said: rules === '' ? '' : [optional, rules].filter((part) => part !== '').join('; '),
    })
    const [record, suffix] = recordIn(field)
    if (record === null) return [row(type)]
    if (SCHEMA_NAMES.has(record)) {
      noteUsed(record, used)
      return [row(type)]
    }
    if (depth >= DEPTH_MAX) return [row(type)]
    // Its keys are in the rows below.
    const plain = type.replace(/ \(.*?\)/, '')
    return [row(plain), ...fieldRows(record, way, used, `${path}${name}${suffix}.`, depth + 1)]
  })
}

/** The object in a field, or in the items of its list. */
function recordIn(schema: JsonSchema): readonly [record: JsonSchema | null, suffix: string] {
  if (schema.properties !== undefined) return [schema, '']
  if (schema.items !== undefined) {
    const [record, suffix] = recordIn(schema.items)
    return [record, `[]${suffix}`]
  }
  const [only, ...others] = schema.anyOf?.filter(({ type }) => type !== 'null') ?? []
  return only === undefined || others.length > 0 ? [null, ''] : recordIn(only)
}

/** Adds a record, and the records of its fields. */
function noteUsed(record: JsonSchema, used: Set<JsonSchema>): void {
  if (used.has(record)) return
  used.add(record)
  for (const field of Object.values(record.properties ?? {})) {
    const [inner] = recordIn(field)
    if (inner !== null && SCHEMA_NAMES.has(inner)) noteUsed(inner, used)
  }
}

function recordsPart(used: ReadonlySet<JsonSchema>, shown: Shown): string {
  const parts = [...used].map((record) => {
    const about = record.description === undefined ? '' : `${record.description}\n\n`
    const title = SCHEMA_NAMES.get(record) ?? ''
    return `### ${title}\n\n${about}${fields(record, 'answered', new Set(), { shown, title }).replace(/^\| \w+/, '| Field')}`
  })
  return `## Records\n\nObjects that several routes have.\n\n${parts.join('\n\n')}\n`
}

function table(head: string, rows: readonly string[]): string {
  return `| ${head} |\n|${'---|'.repeat(head.split('|').length)}\n${rows.join('\n')}`
}

/** A shell command if it works unchanged; or else the request, if it has a body. */
function exampleOf(routeName: string, { example, open }: WireRoute, isFirst: boolean): string | null {
  // The example of a file would be its bytes.
  if (example === undefined || JSON.stringify(example).length > EXAMPLE_CHARS_MAX) return null
  const [method = '', pattern = ''] = routeName.split(' ')
  const { path = {}, query = {}, body } = example
  const search = new URLSearchParams(query).toString()
  const filled = pattern.replaceAll(/(?<=\/)([:*])(\w+)/g, (_all, sign: string, name: string) =>
    sign === '*' ? (path[name] ?? '') : encodeURIComponent(path[name] ?? ''),
  )
  const target = `${filled}${search === '' ? '' : `?${search}`}`
  if (!isFirst || [...Object.values(path), ...Object.values(query)].some((value) => PLACEHOLDER.test(value)))
    return body === undefined ? null : `\`\`\`http\n${method} ${target}\n\n${JSON.stringify(body)}\n\`\`\``
  const key = open === true ? '' : ' -H "Authorization: Bearer $KEY"'
  const address = search === '' ? `$BASE${target}` : `"$BASE${target}"`
  const sent =
    body === undefined
      ? ''
      : ` -H "Content-Type: application/json" \\\n  -d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`
  return `\`\`\`sh\ncurl ${address}${method === 'DELETE' ? ' -X DELETE' : ''}${key}${sent}\n\`\`\``
}
