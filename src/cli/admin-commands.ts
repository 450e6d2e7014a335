import { parse as parseYaml } from 'yaml'
import { ADMIN_ROUTES, type AdminApi } from '../api/admin/contract.ts'
import { isObject } from '../kinds/fields/body-fields.ts'
import type { JsonSchema } from '../base/schema.ts'
import type { AdminWireRoute } from '../api/admin/admin-route.ts'
import { adminClient, type AdminClient } from './admin-client.ts'
import { readValue, valueHelp } from './admin-values.ts'
import {
  type CliContext,
  type Command,
  type CommandInput,
  JSON_OPTION,
  type Option,
  UsageError,
  listed,
  recordText,
  tableText,
} from './command.ts'
import { fileText } from './store-commands.ts'
import type { JsonObject } from '../base/json-text.ts'

type Method = Parameters<AdminClient['call']>[0]

const COLUMNS_MAX = 9
const BODY_OPTION: Option = {
  value: 'FILE',
  help: 'the whole body as JSON or YAML; other options change it (/dev/stdin: standard input)',
}

/** A row of the contract as a command. */
interface Served {
  readonly method: Method
  readonly path: string
  readonly row: AdminWireRoute
  readonly words: string
  /** A field of the body that may be given as the last argument. */
  readonly last: string | null
}

/** Clients of the admin API of a running server: one for each row of its contract whose command is not among `others`. */
export function adminCommands(others: readonly Command[]): readonly Command[] {
  const known = new Set(others.map(({ words }) => words))
  return (Object.keys(ADMIN_ROUTES) as (keyof AdminApi)[])
    .map(servedOf)
    .filter(({ words }) => !known.has(words))
    .map(commandOf)
}

function servedOf(key: keyof AdminApi): Served {
  const [method = '', path = ''] = key.split(' ')
  const [, words = '', last = null] = /^([^[]+?)(?: \[(\w+)\])?$/.exec(ADMIN_ROUTES[key].command) ?? []
  // The keys of the contract begin with a method.
  return { method: method as Method, path, row: ADMIN_ROUTES[key], words, last }
}

/** Parameters of the path, each by the noun before it: `accounts/:id` is an ACCOUNT. */
function operandsOf({ path, last }: Served): readonly string[] {
  const names = [...path.matchAll(/\/([\w-]+)\/[:*](\w+)/g)].map(([, noun = '', name = '']) =>
    (name === 'id' ? singularOf(noun) : name).toUpperCase().replaceAll('-', '_'),
  )
  return last === null ? names : [...names, `[${last.toUpperCase()}]`]
}

/** The noun of `deliveries` is `delivery`, that of `price-changes` is `price-change`. */
function singularOf(noun: string): string {
  return noun.endsWith('ies') ? `${noun.slice(0, -'ies'.length)}y` : noun.replace(/s$/, '')
}

function optionName(field: string): string {
  return field.replaceAll('_', '-')
}

function fieldsOf(schema: JsonSchema | undefined): readonly (readonly [field: string, schema: JsonSchema])[] {
  return Object.entries(schema?.properties ?? {})
}

function commandOf(served: Served): Command {
  const { row, words, last } = served
  const fields = [...fieldsOf(row.query), ...fieldsOf(row.body)]
  const options = fields.map(([field, schema]): readonly [string, Option] => {
    const { value, help } = valueHelp(schema)
    const more = field === last ? 'where it does not stand as an argument' : help
    return [optionName(field), { value, help: more }]
  })
  return {
    words,
    operands: operandsOf(served),
    summary: row.summary,
    options: {
      ...Object.fromEntries(options),
      ...(row.body === undefined ? {} : { body: BODY_OPTION }),
      json: JSON_OPTION,
    },
    run: (input, context) => run(served, input, context),
  }
}

async function run(served: Served, input: CommandInput, context: CliContext): Promise<number> {
  const { method, row } = served
  const body = row.body === undefined ? undefined : await bodyOf(served, row.body, input)
  const path = pathOf(served, input)
  const client = adminClient(context)
  if ('media' in row.answer) {
    context.stdout((await client.text(path)).trimEnd())
    return 0
  }
  const answer = await client.call(method, path, body)
  context.stdout(input.flag('json') ? JSON.stringify(answer) : shown(answer, row.answer))
  return 0
}

/** Slashes in a model's id stay in the path. */
function pathOf({ path, row }: Served, input: CommandInput): string {
  let index = 0
  const filled = path.replaceAll(/[:*]\w+/g, (parameter) => {
    const text = encodeURIComponent(input.operands[index++] ?? '')
    return parameter.startsWith('*') ? text.replaceAll('%2F', '/') : text
  })
  const query = new URLSearchParams()
  for (const [field, schema] of fieldsOf(row.query)) {
    const text = input.text(optionName(field))
    if (text !== undefined) query.set(field, String(readValue(`--${optionName(field)}`, text, schema)))
  }
  return query.size === 0 ? filled : `${filled}?${query.toString()}`
}

async function bodyOf(served: Served, schema: JsonSchema, input: CommandInput): Promise<JsonObject> {
  const { method, last } = served
  const file = input.text('body')
  const given: Record<string, unknown> = file === undefined ? {} : { ...(await fileBody(file)) }
  for (const [field, rules] of fieldsOf(schema)) {
    const name = optionName(field)
    const operand = field === last ? input.operands[operandsOf(served).length - 1] : undefined
    const text = operand ?? input.text(name)
    if (text !== undefined) given[field] = readValue(`--${name}`, text, rules)
  }
  if (last !== null && (given[last] === undefined || String(given[last]).trim() === ''))
    throw new UsageError(`${last.toUpperCase()} is missing: give it as the last argument or as --${optionName(last)}`)
  if (method === 'PATCH' && Object.keys(given).length === 0)
    throw new UsageError('Nothing to change was given; --help lists what can be')
  return given
}

async function fileBody(file: string): Promise<JsonObject> {
  const text = await fileText(file)
  try {
    const body: unknown = parseYaml(text)
    if (isObject(body)) return body
  } catch {
    // Such a text is no object, which is reported below.
  }
  throw new UsageError(`${file}: must be an object in JSON or YAML`)
}

/** A list as a table of the plain fields of its records. */
function shown(answer: JsonObject, schema: JsonSchema): string {
  const items = schema.properties?.['data']?.items
  if (items === undefined) return recordText(answer)
  const names = fieldsOf(items)
    .filter(
      ([, { type }]) => ![type].flat().some((name) => name === undefined || name === 'object' || name === 'array'),
    )
    .map(([name]) => name)
  return tableText(listed(answer), names.slice(0, COLUMNS_MAX))
}
