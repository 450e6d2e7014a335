import { readFile } from 'node:fs/promises'
import { auditBody } from '../admin/reports.ts'
import { AdminSessions } from '../admin/sessions.ts'
import { checkText, problemText } from '../catalog/catalog-service.ts'
import { wireDocument } from '../catalog/wire-document.ts'
import { isObject } from '../kinds/json-fields.ts'
import { StoreBusyError } from '../store/sqlite-database.ts'
import { openStore } from '../store/open.ts'
import { adminClient, type AdminClient } from './admin-client.ts'
import { CommandError, UsageError, type Command, type CommandInput } from './command.ts'
import type { CliContext, OpenStore } from './ports.ts'

const FILE_DEFAULT = './tollgate.yaml'
/** Who an audit-log row says made a change of the command line. */
const ACTOR = 'cli'

/** Commands that open the store themselves, or go through the server that holds it. */
export const STORE_COMMANDS: readonly Command[] = [
  { words: 'check', operands: ['[FILE]'], summary: `Validates the settings and the catalogue file: FILE, else TOLLGATE_CONFIG, else ${FILE_DEFAULT} if it exists.`, options: {}, run: check },
  {
    words: 'apply', operands: ['FILE'], summary: 'Makes the catalogue equal to the file, printing the difference first.',
    options: { 'dry-run': { help: 'print the difference alone' } }, run: apply,
  },
  { words: 'export', operands: [], summary: 'Writes the catalogue out as a file, without credentials.', options: {}, run: exportCatalog },
  { words: 'migrate', operands: [], summary: "Brings the store's schema up to date.", options: {}, run: migrate },
  {
    words: 'audit', operands: [], summary: 'Checks the money invariants; exit 1 on a violation.',
    options: { since: { value: 'TIME', help: 'an ISO time: looks at what came after it' }, json: { help: 'print the whole report as JSON' } }, run: audit,
  },
  { words: 'admin create', operands: ['EMAIL'], summary: 'Creates a console administrator and prints the one-time link to choose a password with.', options: { json: { help: 'print id, email and link as JSON' } }, run: createAdministrator },
  { words: 'kek rotate', operands: [], summary: 'Wraps the provider credentials anew with the first key of TOLLGATE_KEK.', options: {}, run: rotateKek },
]

/** Runs `own` on the store, or `remote` where a running server holds it. */
async function withStore<T>(context: CliContext, own: (store: OpenStore) => Promise<T>, remote: (client: AdminClient) => Promise<T>): Promise<T> {
  const store = await opened(context)
  if (store === null) return remote(adminClient(context))
  try {
    return await own(store)
  } finally {
    await store.close()
  }
}

async function opened(context: CliContext): Promise<OpenStore | null> {
  refuseBadSettings(context)
  try {
    return await context.open(context.config)
  } catch (thrown) {
    if (!(thrown instanceof StoreBusyError)) throw unopenable(thrown)
    if (context.config.adminToken === null) throw new CommandError(`${thrown.message} Or set TOLLGATE_ADMIN_TOKEN, and TOLLGATE_URL if needed, to go through the admin API of that process`)
    return null
  }
}

/** A database that refuses us, a full disk, a wrong key: the operator's to mend, so one sentence without a stack. */
function unopenable(thrown: unknown): Error {
  if (!(thrown instanceof Error) || thrown.message === '') return new CommandError('The store cannot be opened')
  return new CommandError(`The store cannot be opened: ${thrown.message.split('\n')[0] ?? ''}`)
}

function refuseBadSettings({ configProblems }: CliContext): void {
  const [first] = configProblems
  if (first !== undefined) throw new UsageError(first)
}

async function fileText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown error'
    throw new UsageError(`${path}: ${code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`}`)
  }
}

async function check(input: CommandInput, context: CliContext): Promise<number> {
  const named = input.operands[0] ?? context.config.configFile
  const text = named === null ? await fileText(FILE_DEFAULT).catch(() => null) : await fileText(named)
  const file = named ?? FILE_DEFAULT
  const { document, problems } = text === null ? { document: null, problems: [] } : checkText(text, context)
  const lines = [...context.configProblems, ...problems.map((problem) => problemText(problem, file))]
  for (const line of lines) context.stderr(line)
  if (lines.length > 0) return 2
  context.stdout(document === null ? 'Settings are valid; there is no catalogue file' : `Settings and ${file} are valid: ${document.models.length} models, ${Object.keys(document.providers).length} providers`)
  return 0
}

async function apply(input: CommandInput, context: CliContext): Promise<number> {
  const file = input.operands[0] ?? ''
  const text = await fileText(file)
  const dryRun = input.flag('dry-run')
  const { document, problems } = checkText(text, context)
  const fatal = problems.filter(({ unroutable }) => unroutable !== true)
  if (fatal.length > 0) throw new UsageError(fatal.map((problem) => problemText(problem, file)).join('\n'))
  for (const problem of problems) context.stderr(problemText(problem, file))
  return withStore(
    context,
    async (own) => {
      const lines = await own.catalog.applyText(text, { dryRun: true, onlyNew: false, file })
      printDifference(context, lines)
      if (dryRun) return 0
      await own.catalog.applyText(text, { dryRun: false, onlyNew: false, file })
      if (lines.length > 0) await recordEvent(context, own, 'catalog.apply', 'catalog', lines)
      return done(context, lines)
    },
    async (client) => {
      // Variables are filled in here, since the server's environment is another.
      const body = wireDocument(document)
      const lines = changesOf(await client.call('PUT', '/admin/v1/catalog?dry_run=1', body))
      printDifference(context, lines)
      if (dryRun) return 0
      await client.call('PUT', '/admin/v1/catalog', body)
      return done(context, lines)
    },
  )
}

function changesOf({ changes }: Readonly<Record<string, unknown>>): readonly string[] {
  return Array.isArray(changes) ? changes.map(String) : []
}

function printDifference(context: CliContext, lines: readonly string[]): void {
  for (const line of lines) context.stdout(line)
  if (lines.length === 0) context.stdout('No difference')
}

function done(context: CliContext, lines: readonly string[]): number {
  if (lines.length > 0) context.stdout(`Applied ${lines.length} change${lines.length === 1 ? '' : 's'}`)
  return 0
}

async function exportCatalog(_input: CommandInput, context: CliContext): Promise<number> {
  const text = await withStore(context, async ({ catalog }) => catalog.exportText(), (client) => client.text('/admin/v1/catalog?format=yaml'))
  context.stdout(text.trimEnd())
  return 0
}

async function migrate(_input: CommandInput, context: CliContext): Promise<number> {
  refuseBadSettings(context)
  const { dataDir, databaseUrl } = context.config
  const store = await openStore({ dataDir, databaseUrl }).catch((thrown: unknown) => {
    throw thrown instanceof StoreBusyError ? thrown : unopenable(thrown)
  })
  await store.close()
  context.stdout('The schema is up to date')
  return 0
}

async function audit(input: CommandInput, context: CliContext): Promise<number> {
  const since = input.text('since')
  const sinceMs = since === undefined ? 0 : Date.parse(since)
  if (Number.isNaN(sinceMs)) throw new UsageError(`--since must be an ISO time such as 2026-11-20T15:06:04Z, got '${since ?? ''}'`)
  const report = await withStore<Readonly<Record<string, unknown>>>(
    context,
    async (own) => auditBody(await own.audit(sinceMs)),
    (client) => client.call('GET', `/admin/v1/audit${since === undefined ? '' : `?since=${encodeURIComponent(new Date(sinceMs).toISOString())}`}`),
  )
  context.stdout(input.flag('json') ? JSON.stringify(report) : auditText(report))
  return report['ok'] === true ? 0 : 1
}

function auditText(report: Readonly<Record<string, unknown>>): string {
  const checks = Array.isArray(report['checks']) ? report['checks'].filter(isObject) : []
  const lines = checks.flatMap(({ id, name, violations }) => {
    const found = Array.isArray(violations) ? violations.map((what) => `      ${String(what)}`) : []
    return [`${found.length === 0 ? 'ok  ' : 'FAIL'}  ${String(id)}  ${String(name)}`, ...found]
  })
  return [...lines, `${String(report['violations'])} violations`].join('\n')
}

async function createAdministrator(input: CommandInput, context: CliContext): Promise<number> {
  const email = input.operands[0] ?? ''
  const base = context.config.publicUrl ?? context.config.url
  const made = await withStore<Readonly<Record<string, unknown>>>(
    context,
    async (own) => {
      const sessions = new AdminSessions({ store: own.store.administrators, events: own.store.events, clock: context.clock, ids: context.ids })
      const { id, email: kept, token } = await sessions.invite(email)
      await recordEvent(context, own, 'administrator.create', id, { email: kept })
      return { id, email: kept, link: `${base}/setup?token=${token}` }
    },
    (client) => client.call('POST', '/admin/v1/administrators', { email }),
  )
  context.stdout(input.flag('json') ? JSON.stringify(made) : `Set-up link for ${String(made['email'])}, once, within 60 minutes:\n${String(made['link'])}`)
  return 0
}

async function rotateKek(_input: CommandInput, context: CliContext): Promise<number> {
  const { rewrapped } = await withStore<Readonly<Record<string, unknown>>>(
    context,
    async (own) => {
      await own.catalog.rewrap()
      const count = own.catalog.credentialCount()
      await recordEvent(context, own, 'kek.rotate', 'kek', { rewrapped: count })
      return { rewrapped: count }
    },
    (client) => client.call('POST', '/admin/v1/kek/rotate', {}),
  )
  context.stdout(`Wrapped ${String(rewrapped)} credentials anew`)
  return 0
}

async function recordEvent(context: CliContext, { store }: OpenStore, action: string, object: string, after: unknown): Promise<void> {
  await store.events.append({ atMs: context.clock.now(), actor: ACTOR, ip: null, action, object, before: null, after: JSON.stringify(after) })
}
