import { recordEvent as recordChange } from '../api/records/ports.ts'
import { isProblemOf } from '../app/config.ts'
import type { Variable } from '../tables/environment-table.ts'
import type { EventAction } from '../ledger/event-action.ts'
import { hasStore } from '../store/open.ts'
import { StoreBusyError } from '../store/sqlite/database.ts'
import { adminClient, type AdminClient } from './admin-client.ts'
import { type CliContext, CommandError, type OpenStore, UsageError } from './command.ts'

/** The author that the audit log names for a change by the command line. */
export const ACTOR = 'cli'

/**
 * Runs `own` on the store, or `remote` if a running server has the store open. Only a command that writes something of
 * its own (`makes`) creates a store if there is none.
 */
export async function withStore<T>(
  context: CliContext,
  own: (store: OpenStore) => Promise<T>,
  remote: (client: AdminClient) => Promise<T>,
  { makes = false }: { readonly makes?: boolean } = {},
): Promise<T> {
  refuseBadSettings(context)
  if (!makes) await refuseNoStore(context)
  const store = await opened(context)
  if (store === null) return remote(adminClient(context))
  try {
    return await own(store)
  } finally {
    await store.close()
  }
}

/** A command that reads a store must not create an empty one, whose results would look right. */
export async function refuseNoStore({ config: { dataDir, databaseUrl } }: CliContext): Promise<void> {
  const isThere = await hasStore({ dataDir, databaseUrl }).catch((thrown: unknown) => {
    throw unopenable(thrown)
  })
  if (isThere) return
  throw new CommandError(
    databaseUrl === null
      ? `There is no store in ${dataDir}. Is TOLLGATE_DATA right?`
      : 'There is no store in the database of DATABASE_URL. Is DATABASE_URL right?',
  )
}

async function opened(context: CliContext): Promise<OpenStore | null> {
  try {
    return await context.open(context.config)
  } catch (thrown) {
    if (!(thrown instanceof StoreBusyError)) throw unopenable(thrown)
    if (context.config.adminToken === null)
      throw new CommandError(
        `${thrown.message} Or set TOLLGATE_ADMIN_TOKEN, and TOLLGATE_URL if needed, to go through the admin API of that process`,
      )
    return null
  }
}

/**
 * A failure that the operator must fix (a database that refuses us, a full disk, a wrong key), as one sentence without
 * a stack.
 */
export function unopenable(thrown: unknown): Error {
  if (!(thrown instanceof Error) || thrown.message === '') return new CommandError('The store cannot be opened')
  return new CommandError(`The store cannot be opened: ${thrown.message.split('\n')[0] ?? ''}`)
}

/** `names`: the only settings that matter to the command; empty = all. */
export function refuseBadSettings({ configProblems }: CliContext, names: readonly Variable[] = []): void {
  const first = configProblems.find((line) => names.length === 0 || names.some((name) => isProblemOf(line, name)))
  if (first !== undefined) throw new UsageError(first)
}

export function changesOf({ changes }: Readonly<Record<string, unknown>>): readonly string[] {
  return Array.isArray(changes) ? changes.map(String) : []
}

export function printDifference(context: CliContext, lines: readonly string[]): void {
  for (const line of lines) context.stdout(line)
  if (lines.length === 0) context.stdout('No difference')
}

export function printApplied(context: CliContext, lines: readonly string[]): number {
  if (lines.length > 0) context.stdout(`Applied ${lines.length} change${lines.length === 1 ? '' : 's'}`)
  return 0
}

export async function recordEvent(
  context: CliContext,
  { store }: OpenStore,
  action: EventAction,
  object: string,
  after: unknown,
): Promise<void> {
  await recordChange({ store, clock: context.clock }, { actor: ACTOR, ip: null }, action, object, after)
}
