import { CatalogError } from '../catalog/catalog-check.ts'
import { readConfig } from '../app/config.ts'
import { ApiError, OperatorError } from '../base/errors.ts'
import { StoreUnavailableError } from '../ledger/ledger-store.ts'
import { adminCommands } from './admin-commands.ts'
import { CATALOG_UPDATE_COMMAND } from './catalog-commands.ts'
import {
  type CliPorts,
  type Command,
  CommandError,
  type CommandInput,
  JSON_OPTION,
  UsageError,
  columns,
  commandHelp,
  parseInput,
  recordText,
  usageLine,
} from './command.ts'
import { LAUNCH_COMMAND } from './launch-command.ts'
import { PROOF_COMMANDS } from './proof-commands.ts'
import { RECONCILE_COMMAND } from './reconcile-command.ts'
import { STORE_COMMANDS } from './store-commands.ts'
import { readValue } from './admin-values.ts'
import { adminClient } from './admin-client.ts'
import { rub } from '../base/schema.ts'

/** The most frequent entry of a ledger has a command of its own. */
const TOP_UP_COMMAND: Command = {
  words: 'topup',
  operands: ['ACCOUNT', 'AMOUNT'],
  summary: 'Adds RUB to an account. A reference that was used before adds nothing.',
  options: {
    reference: { value: 'R', help: "the payment's own number, which makes a repeat harmless" },
    reason: { value: 'TEXT', help: 'why, for the ledger' },
    json: JSON_OPTION,
  },
  run: async (input, context) => {
    const reference = input.text('reference')
    if (reference === undefined || reference === '')
      throw new UsageError("--reference is missing: the payment's own number, by which a repeated top-up is known")
    const amount = readValue('AMOUNT', input.operands[1] ?? '', rub())
    if (amount === 0) throw new UsageError('AMOUNT must be above 0')
    const path = `/admin/v1/accounts/${encodeURIComponent(input.operands[0] ?? '')}/ledger`
    const body = { kind: 'topup', amount, reason: input.text('reason') ?? 'top-up', reference }
    const answer = await adminClient(context).call('POST', path, body)
    context.stdout(input.flag('json') ? JSON.stringify(answer) : recordText(answer))
    return 0
  },
}

const START: Command = {
  words: 'start',
  operands: [],
  summary: 'Migrates and starts the server; also done without a command.',
  options: {},
  run: (_input, { start }) => start(),
}
const BY_HAND: readonly Command[] = [
  START,
  ...STORE_COMMANDS,
  ...PROOF_COMMANDS,
  RECONCILE_COMMAND,
  CATALOG_UPDATE_COMMAND,
  TOP_UP_COMMAND,
  LAUNCH_COMMAND,
]
const COMMANDS: readonly Command[] = [...BY_HAND, ...adminCommands(BY_HAND)]

/**
 * Runs one command line, such as `['account', 'list']`; resolves to the exit code: 0 = done, 1 = failed or violated, 2
 * = wrong usage.
 */
export async function runCommand(given: readonly string[], ports: CliPorts): Promise<number> {
  // `npx tollgate` without arguments starts the server.
  const argv = given.length === 0 ? [START.words] : given
  const [first = '', second = ''] = argv
  if (first === 'help' && second !== '') return runCommand([...argv.slice(1), '--help'], ports)
  if (['--help', '-h', 'help'].includes(first)) return answer(ports, generalHelp(COMMANDS))
  if (first === '--version') return answer(ports, ports.version)
  const family = familyOf(first)
  if (family.length > 0 && family.every(({ words }) => words !== first) && ['--help', '-h'].includes(second))
    return answer(ports, generalHelp(family))
  try {
    const { command, input } = commandOf(argv)
    if (input === null) return answer(ports, commandHelp(command))
    const { config, problems, unknown } = readConfig(ports.env)
    const configProblems = [...ports.secretFileProblems, ...problems]
    return await command.run(input, { ...ports, config, configProblems, unknownSettings: unknown })
  } catch (thrown) {
    // A document that cannot be applied is wrong usage, like a wrong option.
    if (thrown instanceof UsageError || thrown instanceof CatalogError) return failed(ports, thrown.message, 2)
    // These failures come from the settings or the environment of a server.
    if (isExpected(thrown)) return failed(ports, thrown.message, first === START.words ? 2 : 1)
    throw thrown
  }
}

function familyOf(first: string): readonly Command[] {
  return COMMANDS.filter(({ words }) => words === first || words.startsWith(`${first} `))
}

/** The command of a command line; `input` is null when its help was asked for. Throws UsageError. */
export function commandOf(argv: readonly string[]): {
  readonly command: Command
  readonly input: CommandInput | null
} {
  const [first = '', second = ''] = argv
  const family = familyOf(first)
  const command = family.find(({ words }) => words === first || words === `${first} ${second}`)
  if (command === undefined) throw new UsageError(unknownText(first, second, family))
  return { command, input: parseInput(command, argv.slice(command.words.split(' ').length)) }
}

/** Failures whose message tells the operator what to do; any other is a bug and keeps its stack. */
function isExpected(thrown: unknown): thrown is Error {
  return [CommandError, OperatorError, StoreUnavailableError, ApiError].some((kind) => thrown instanceof kind)
}

function answer({ stdout }: CliPorts, text: string): number {
  stdout(text)
  return 0
}

function failed({ stderr }: CliPorts, message: string, code: number): number {
  stderr(`tollgate: ${message}`)
  return code
}

function unknownText(first: string, second: string, family: readonly Command[]): string {
  if (family.length === 0)
    return `unknown command '${first}'. Commands: ${[...new Set(COMMANDS.map(({ words }) => words.split(' ')[0] ?? words))].join(', ')}; see --help`
  const known = family.map(({ words }) => words.split(' ')[1] ?? words).join(', ')
  return `${second === '' ? `${first} needs one of` : `unknown command '${first} ${second}', expected one of`}: ${known}; see tollgate ${first} --help`
}

function generalHelp(commands: readonly Command[]): string {
  const rows = commands.map((command) => [usageLine(command), command.summary] as const)
  return [
    'Usage: tollgate COMMAND',
    '',
    ...columns(rows),
    '',
    'tollgate COMMAND --help tells more of one command.',
  ].join('\n')
}
