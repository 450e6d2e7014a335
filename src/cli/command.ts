import { parseArgs } from 'node:util'
import type { Config } from '../app/config.ts'
import type { Clock } from '../base/clock.ts'
import type { IdSource } from '../base/ids.ts'
import type { JsonObject } from '../base/json-text.ts'
import type { CatalogService } from '../catalog/catalog-service.ts'
import type { KnownAdapters } from '../catalog/catalog.ts'
import type { ModelEntry } from '../catalog/document.ts'
import { isObject } from '../kinds/fields/body-fields.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'
import type { AuditCheck } from '../store/audit/audit-store.ts'
import type { Store } from '../store/store.ts'

export interface Option {
  /** The name of its value in the help; absent = a flag without a value. */
  readonly value?: string
  readonly help: string
}

/** One command as data: its help, the check of its arguments and its dispatch all use it. */
export interface Command {
  /** Such as `check` or `account create`. */
  readonly words: string
  /** Names in capitals. Optional ones are in brackets and come last. */
  readonly operands: readonly string[]
  readonly summary: string
  readonly options: Readonly<Record<string, Option>>
  /** Resolves to the exit code. */
  run(input: CommandInput, context: CliContext): Promise<number>
}

export interface CommandInput {
  /** Operands in order; omitted ones are undefined. */
  readonly operands: readonly (string | undefined)[]
  text(name: string): string | undefined
  flag(name: string): boolean
}

/** The command line is wrong: one line and exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The command could not do its work: one line and exit 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** Reads a command's arguments; null when its help was asked for. */
export function parseInput(command: Command, argv: readonly string[]): CommandInput | null {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  const { values, positionals } = parsed(command, argv, { ...options, help: { type: 'boolean', short: 'h' } })
  if (values['help'] === true) return null
  checkOperands(command, positionals)
  return {
    operands: command.operands.map((_name, index) => positionals[index]),
    text: (name) => {
      const value = values[name]
      return typeof value === 'string' ? value : undefined
    },
    flag: (name) => values[name] === true,
  }
}

/**
 * The mark put before a negative number, which would otherwise be read as an option; no argument of a process can
 * contain it.
 */
const NUMBER = '\0'

function unmarked(text: string): string {
  return text.startsWith(NUMBER) ? text.slice(NUMBER.length) : text
}

type ParseOptions = Record<string, { type: 'boolean' | 'string'; short?: string }>

function parsed(
  command: Command,
  argv: readonly string[],
  options: ParseOptions,
): { values: Record<string, unknown>; positionals: string[] } {
  // No option is a digit, but an amount and the id of a Telegram chat may begin with a minus.
  const args = argv.map((arg) => (/^-\d/.test(arg) ? `${NUMBER}${arg}` : arg))
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true, strict: true })
    return {
      values: Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? unmarked(value) : value]),
      ),
      positionals: positionals.map(unmarked),
    }
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown
    // The first sentence names the mistake; the rest is advice about parseArgs.
    const [what = 'wrong arguments'] = thrown.message.split(/\.(?: |\n|$)|\n/)
    const ambiguous = /^Option '(?:-., )?(--[^ ']+)(?: [^']*)?' argument is ambiguous$/.exec(what)?.[1]
    throw new UsageError(
      `${ambiguous === undefined ? what : `A value of ${ambiguous} that begins with - is given as ${ambiguous}=VALUE`}. ${knownOptions(command)}`,
    )
  }
}

function knownOptions(command: Command): string {
  return `Options of tollgate ${command.words}: ${[...Object.entries(command.options).map(([name, { value }]) => `--${name}${value === undefined ? '' : ` ${value}`}`), '--help'].join(', ')}`
}

function checkOperands(command: Command, given: readonly string[]): void {
  const missing = command.operands.slice(given.length).find((name) => !name.startsWith('['))
  if (missing !== undefined) throw new UsageError(`${missing} is missing. Usage: ${usageLine(command)}`)
  const extra = given[command.operands.length]
  if (extra !== undefined) throw new UsageError(`'${extra}' is one argument too many. Usage: ${usageLine(command)}`)
  const empty = given.findIndex((operand) => operand === '')
  if (empty !== -1)
    throw new UsageError(`${command.operands[empty] ?? 'An argument'} is empty. Usage: ${usageLine(command)}`)
}

export function usageLine(command: Command): string {
  const options = Object.keys(command.options).length === 0 ? '' : ' [options]'
  return `tollgate ${[command.words, ...command.operands].join(' ')}${options}`
}

/** The help of one command. */
export function commandHelp(command: Command): string {
  const rows = [
    ...Object.entries(command.options).map(
      ([name, { value, help }]) => [`--${name}${value === undefined ? '' : ` ${value}`}`, help] as const,
    ),
    ['-h, --help', 'this text'] as const,
  ]
  return [`Usage: ${usageLine(command)}`, '', `  ${command.summary}`, '', ...columns(rows)].join('\n')
}

/** Two columns, the first as wide as its widest entry. */
export function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}

export const JSON_OPTION: Option = { help: 'print the answer of the admin API as it is' }

/** A record as text for people, one line for each field. */
export function recordText(record: JsonObject): string {
  const names = Object.keys(record)
  const width = Math.max(0, ...names.map((name) => name.length))
  return names.map((name) => `${name.padEnd(width)}  ${valueText(record[name])}`).join('\n')
}

/** Records as a table for people, with the columns' names. */
export function tableText(records: readonly JsonObject[], names: readonly string[]): string {
  if (records.length === 0) return 'none'
  const rows = [names, ...records.map((record) => names.map((name) => valueText(record[name])))]
  const widths = names.map((_name, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The records of a list in an answer. */
export function listed(answer: JsonObject, field = 'data'): readonly JsonObject[] {
  const list = answer[field]
  return Array.isArray(list) ? list.filter(isObject) : []
}

/** Control characters in a stored name could move the cursor of the operator's terminal. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return '-'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replaceAll(/\p{Cc}/gu, ' ')
}

/** The store and its catalogue, opened for one command. */
export interface OpenStore {
  readonly store: Store
  readonly catalog: CatalogService
  readonly keyWrap: KeyWrap
  audit(sinceMs: number): Promise<readonly AuditCheck[]>
  replay(fromMs: number, toMs: number): ReturnType<Store['audit']['replay']>
  /** Encrypts every secret with the first wrapping key; resolves to their number. */
  rewrap(): Promise<number>
  close(): Promise<void>
}

/** Everything that commands get from the process. */
export interface CliPorts {
  readonly version: string
  /** The process's environment, with `.env` and the secrets of files filled in. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** One line for each secret whose file cannot be used. */
  readonly secretFileProblems: readonly string[]
  /** Each call writes one line or text with its line end. */
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
  readonly clock: Clock
  readonly ids: IdSource
  /** Adapter names that a catalogue file may use. */
  readonly adapters: KnownAdapters
  /** Throws StoreBusyError when another process has the embedded store open. */
  readonly open: (config: Config) => Promise<OpenStore>
  /** Reads the published lists of models (docs/decisions/0019-catalogue-sources.md); absent = this program cannot. */
  readonly fetchLists?: (
    addresses: Config['dataSet'],
    of: { readonly ids: ReadonlyMap<string, string>; readonly nowMs: number; readonly stop: AbortSignal },
  ) => Promise<readonly ModelEntry[]>
  /** Resolves to 0 when the server listens; the process then lives as long as the server. */
  readonly start: () => Promise<number>
}

export interface CliContext extends CliPorts {
  readonly config: Config
  /** One line for each malformed setting; it begins with the variable's name. */
  readonly configProblems: readonly string[]
  /** One line for each variable that is probably a mistyped setting. */
  readonly unknownSettings: readonly string[]
}
