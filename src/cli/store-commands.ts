import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OPERATOR_ROLES, type OperatorRole } from '../tables/scopes.ts'
import { SetupLinks } from '../api/admin/setup-links.ts'
import { providerKeys, readBundledRelease } from '../catalog/bundled.ts'
import { checkText, problemText } from '../catalog/catalog-check.ts'
import { catalogNotes } from '../catalog/catalog-notes.ts'
import { effectiveDocument, NOTHING, stateAfter, type CatalogState } from '../catalog/catalog-state.ts'
import { difference } from '../catalog/difference.ts'
import { EMPTY_DOCUMENT, type CatalogDocument } from '../catalog/document.ts'
import { missingSteps } from '../catalog/known-providers.ts'
import { priceWarnings } from '../catalog/price-doubts.ts'
import { quotesOf, type Quote } from '../catalog/shown-prices.ts'
import { buildSnapshot } from '../catalog/snapshot.ts'
import { wireDocument } from '../catalog/wire-document.ts'
import { OperatorError } from '../base/errors.ts'
import { rubles } from '../base/money.ts'
import { backupStore } from '../store/backup.ts'
import { copyStore, type CopyReport } from '../store/copy-store.ts'
import { diskFault } from '../store/sqlite/disk-fault.ts'
import { StoreBusyError } from '../store/sqlite/database.ts'
import { hasStore, migrateStore } from '../store/open.ts'
import { type CliContext, type Command, CommandError, type CommandInput, UsageError } from './command.ts'
import {
  changesOf,
  printApplied,
  printDifference,
  recordEvent,
  refuseBadSettings,
  refuseNoStore,
  unopenable,
  withStore,
} from './store-access.ts'

const FILE_DEFAULT = './tollgate.yaml'

/** Commands that open the store themselves, or use the server that has it open. */
export const STORE_COMMANDS: readonly Command[] = [
  {
    words: 'check',
    operands: ['[FILE]'],
    summary: `Validates the settings and the catalogue file: FILE, else TOLLGATE_CONFIG, else ${FILE_DEFAULT} if it exists.`,
    options: {},
    run: check,
  },
  {
    words: 'apply',
    operands: ['FILE'],
    summary: 'Makes the catalogue equal to the file, printing the difference first.',
    options: { 'dry-run': { help: 'print the difference alone' } },
    run: apply,
  },
  {
    words: 'export',
    operands: [],
    summary: 'Writes the catalogue out as a file, without credentials.',
    options: {},
    run: exportCatalog,
  },
  {
    words: 'backup',
    operands: ['DIR'],
    summary: 'Copies the embedded store and its stored files into a new directory, while the server runs or not.',
    options: { json: { help: 'print what was copied as JSON' } },
    run: backup,
  },
  {
    words: 'copy',
    operands: [],
    summary: 'Copies the embedded store into the empty database of DATABASE_URL, while no server runs, and audits it.',
    options: { json: { help: 'print what was copied as JSON' } },
    run: copy,
  },
  { words: 'migrate', operands: [], summary: "Brings the store's schema up to date.", options: {}, run: migrate },
  {
    words: 'admin create',
    operands: ['EMAIL'],
    summary: 'Creates a console administrator and prints the one-time link to choose a password with.',
    options: {
      role: { value: 'ROLE', help: `what they may do: ${OPERATOR_ROLES.join(', ')}; owner unless told` },
      json: { help: 'print id, email and link as JSON' },
    },
    run: createAdministrator,
  },
  {
    words: 'kek rotate',
    operands: [],
    summary: 'Wraps the provider credentials anew with the first key of TOLLGATE_KEK.',
    options: {},
    run: rotateKek,
  },
]

export async function fileText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    const fault =
      thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT'
        ? null
        : (diskFault(thrown) ?? String(thrown))
    throw new UsageError(`${path}: ${fault === null ? 'no such file' : `cannot be read: ${fault}`}`)
  }
}

async function check(input: CommandInput, context: CliContext): Promise<number> {
  const named = input.operands[0] ?? context.config.configFile
  const text = named === null ? await fileText(FILE_DEFAULT).catch(() => null) : await fileText(named)
  const file = named ?? FILE_DEFAULT
  const { document, problems } =
    text === null
      ? { document: EMPTY_DOCUMENT, problems: [] }
      : checkText(text, context, stateHere(context, EMPTY_DOCUMENT).base, readBundledRelease().models)
  const lines = [...context.configProblems, ...problems.map((problem) => problemText(problem, file))]
  for (const line of [...lines, ...context.unknownSettings]) context.stderr(line)
  if (lines.length > 0) return 2
  const state = stateHere(context, document)
  for (const { message } of catalogNotes(state, readBundledRelease().models)) context.stdout(message)
  for (const line of soldLines(state, context)) context.stdout(line)
  context.stdout(
    text === null
      ? 'Settings are valid; there is no catalogue file'
      : `Settings and ${file} are valid: ${document.models.length} models, ${Object.keys(document.providers).length} providers`,
  )
  return 0
}

/** Lines about guessed limits, and what a standard request costs under each condition of a price of the file. */
function soldLines(state: CatalogState, { adapters, clock }: CliContext): readonly string[] {
  const { models } = buildSnapshot(effectiveDocument(state), adapters, 0, 0)
  const guesses = Map.groupBy(
    [...models.values()].flatMap(({ id, guessed = [] }) => guessed.map((field) => ({ id, field }))),
    ({ field }) => field,
  )
  return [
    ...[...guesses].map(
      ([field, rows]) => `${field} is a guess, since no list states it, of ${rows.map(({ id }) => id).join(', ')}`,
    ),
    ...state.own.models.flatMap(({ id }) => {
      const model = models.get(id)
      return model === undefined ? [] : quotesOf(model, clock.now()).map(quoteText)
    }),
  ]
}

function quoteText({ model, endpoint, condition, usage, chargedMicro, billedMicro }: Quote): string {
  const units = Object.entries(usage).map(([meter, count]) => `${count} ${meter}`)
  return `${model} at ${endpoint}, ${condition ?? 'plain'}: ${units.join(' + ')} cost ${rubles(chargedMicro)} RUB, the provider ${rubles(billedMicro)} RUB`
}

/** The difference that the document would make in a server with this environment and an empty store. */
function stateHere({ adapters, env }: CliContext, own: CatalogDocument): CatalogState {
  return stateAfter(NOTHING, own, {
    adapters,
    release: readBundledRelease(),
    keys: providerKeys(env),
    renew: false,
    today: '',
  })
}

async function apply(input: CommandInput, context: CliContext): Promise<number> {
  const file = input.operands[0] ?? ''
  const text = await fileText(file)
  const dryRun = input.flag('dry-run')
  const { document, problems } = checkText(
    text,
    context,
    stateHere(context, EMPTY_DOCUMENT).base,
    readBundledRelease().models,
  )
  const fatal = problems.filter(({ unroutable }) => unroutable !== true)
  if (fatal.length > 0) throw new UsageError(fatal.map((problem) => problemText(problem, file)).join('\n'))
  for (const problem of problems) context.stderr(problemText(problem, file))
  const warnings = [...priceWarnings(document), ...missingSteps(document, readBundledRelease().models)]
  for (const { message } of warnings) context.stderr(`Warning: ${message}`)
  refuseBadSettings(context)
  if (dryRun && !(await hasStore(context.config))) {
    const inForce = (own: CatalogDocument): CatalogDocument => effectiveDocument(stateHere(context, own))
    printDifference(context, difference(inForce(EMPTY_DOCUMENT), inForce(document)))
    return 0
  }
  return withStore(
    context,
    async (own) => {
      const lines = await own.catalog.applyText(text, { dryRun: true, onlyNew: false, file })
      printDifference(context, lines)
      if (dryRun) return 0
      await own.catalog.applyText(text, { dryRun: false, onlyNew: false, file })
      if (lines.length > 0) await recordEvent(context, own, 'catalog.apply', 'catalog', lines)
      return printApplied(context, lines)
    },
    async (client) => {
      // Variables are filled in here, because the server has another environment.
      const body = wireDocument(document)
      const lines = changesOf(await client.call('PUT', '/admin/v1/catalog?dry_run=1', body))
      printDifference(context, lines)
      if (dryRun) return 0
      await client.call('PUT', '/admin/v1/catalog', body)
      return printApplied(context, lines)
    },
    { makes: true },
  )
}

async function exportCatalog(_input: CommandInput, context: CliContext): Promise<number> {
  const text = await withStore(
    context,
    async ({ catalog }) => catalog.exportText(),
    (client) => client.text('/admin/v1/catalog?format=yaml'),
  )
  context.stdout(text.trimEnd())
  return 0
}

async function backup(input: CommandInput, context: CliContext): Promise<number> {
  refuseBadSettings(context)
  const { dataDir, databaseUrl } = context.config
  if (databaseUrl !== null)
    throw new CommandError('With DATABASE_URL everything is in PostgreSQL: back it up with pg_dump or by its own means')
  const directory = input.operands[0] ?? ''
  const { bytes, files, missing } = await backupStore(dataDir, directory)
  context.stdout(
    input.flag('json')
      ? JSON.stringify({ directory, bytes, files, missing })
      : `Copied ${bytes} bytes and ${files} stored files to ${directory}`,
  )
  if (!input.flag('json'))
    context.stdout(
      `The key that seals provider credentials is not in it: keep ${context.config.kek === null ? join(dataDir, 'kek') : 'TOLLGATE_KEK'} elsewhere`,
    )
  return 0
}

async function copy(input: CommandInput, context: CliContext): Promise<number> {
  refuseBadSettings(context)
  const { dataDir, databaseUrl } = context.config
  if (databaseUrl === null)
    throw new CommandError(`Set DATABASE_URL to the empty database that the store in ${dataDir} is copied to`)
  await refuseNoStore({ ...context, config: { ...context.config, databaseUrl: null } })
  const copied = await copyEmbedded(context, databaseUrl)
  const target = await context.open(context.config)
  const violated = await target.audit(0).finally(() => target.close())
  const broken = violated.filter(({ violations }) => violations.length > 0)
  const { tables, rows, files, missing } = copied
  context.stdout(
    input.flag('json')
      ? JSON.stringify({ ...copied, violated: broken.map(({ id }) => id) })
      : `Copied ${rows} rows of ${tables} tables and ${files} stored files${missing > 0 ? `; the bytes of ${missing} more are not on the disk` : ''}`,
  )
  for (const { id, name } of broken) context.stderr(`${id} is violated in the copy: ${name}`)
  return broken.length > 0 ? 1 : 0
}

/** The catalogue of the embedded store is read first, so a wrong TOLLGATE_KEK is refused before a write. */
async function copyEmbedded(context: CliContext, databaseUrl: string): Promise<CopyReport> {
  const { config } = context
  try {
    const { keyWrap, close } = await context.open({ ...config, databaseUrl: null })
    await close()
    return await copyStore({ dataDir: config.dataDir, databaseUrl, keyWrap })
  } catch (thrown) {
    if (thrown instanceof StoreBusyError)
      throw new CommandError(`A server has the store in ${config.dataDir} open: stop it first`)
    throw thrown instanceof OperatorError ? new CommandError(thrown.message) : thrown
  }
}

async function migrate(_input: CommandInput, context: CliContext): Promise<number> {
  refuseBadSettings(context)
  const { dataDir, databaseUrl } = context.config
  // An empty database may be given: this creates its tables before a first start.
  if (databaseUrl === null) await refuseNoStore(context)
  await migrateStore({ dataDir, databaseUrl }).catch((thrown: unknown) => {
    throw thrown instanceof StoreBusyError ? thrown : unopenable(thrown)
  })
  context.stdout('The schema is up to date')
  return 0
}

async function createAdministrator(input: CommandInput, context: CliContext): Promise<number> {
  const email = input.operands[0] ?? ''
  const role = roleOf(input.text('role') ?? 'owner')
  const base = context.config.publicUrl ?? context.config.url
  const made = await withStore<Readonly<Record<string, unknown>>>(
    context,
    async (own) => {
      const links = new SetupLinks({ users: own.store.users, clock: context.clock, ids: context.ids })
      const { id, email: kept, token } = await links.invite(email, role)
      await recordEvent(context, own, 'administrator.create', id, { email: kept, role })
      return { id, email: kept, link: `${base}/setup?token=${token}` }
    },
    (client) => client.call('POST', '/admin/v1/administrators', { email, role }),
    { makes: true },
  )
  context.stdout(
    input.flag('json')
      ? JSON.stringify(made)
      : `Set-up link for ${String(made['email'])}, once, within 60 minutes:\n${String(made['link'])}`,
  )
  return 0
}

function roleOf(text: string): OperatorRole {
  const role = OPERATOR_ROLES.find((name) => name === text)
  if (role === undefined) throw new UsageError(`--role must be one of ${OPERATOR_ROLES.join(', ')}, got '${text}'`)
  return role
}

async function rotateKek(_input: CommandInput, context: CliContext): Promise<number> {
  const { rewrapped } = await withStore<Readonly<Record<string, unknown>>>(
    context,
    async (own) => {
      const count = await own.rewrap()
      await recordEvent(context, own, 'kek.rotate', 'kek', { rewrapped: count })
      return { rewrapped: count }
    },
    (client) => client.call('POST', '/admin/v1/kek/rotate', {}),
  )
  context.stdout(`Wrapped ${String(rewrapped)} credentials anew`)
  return 0
}
