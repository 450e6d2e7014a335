import { resolve } from 'node:path'
import { OperatorError } from '../base/errors.ts'
import { diskFault } from './sqlite/disk-fault.ts'
import { StoreUnavailableError } from '../ledger/ledger-store.ts'
import { ownValue } from '../base/own-value.ts'

/** By codes of PostgreSQL and of sockets; other failures keep the driver's own text. */
const DATABASE_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections: is PostgreSQL running there?',
  ENOTFOUND: 'has a host name that does not resolve',
  EAI_AGAIN: 'has a host name that does not resolve now',
  EHOSTUNREACH: 'cannot be reached from this machine',
  ENETUNREACH: 'cannot be reached from this machine',
  ETIMEDOUT: 'does not answer',
  ECONNRESET: 'broke the connection off: does it want TLS (?sslmode=require)?',
  '3D000': 'does not exist there: create it first',
  '28P01': 'refuses the user or the password',
  '28000': 'refuses the user: see pg_hba.conf',
  '53300': 'has no connection left: see max_connections',
  '57P03': 'is starting up or shutting down: try again in a moment',
  '08P01': 'is behind PgBouncer, which refuses the settings of a connection: add ?pgbouncer=true to DATABASE_URL',
  '42501': 'does not let this user do what is needed',
  '25006': 'is read-only: name the primary and not a replica',
  '53100': 'has no disk space left',
}

/**
 * Why the store cannot be opened, as a sentence for the operator; an error of neither the database nor the disk is a
 * bug, and is returned unchanged.
 */
export function openFailure(
  thrown: unknown,
  { dataDir, databaseUrl }: { readonly dataDir: string; readonly databaseUrl: string | null },
): unknown {
  if (thrown instanceof OperatorError) return thrown
  return databaseUrl === null ? folderFailure(thrown, dataDir) : databaseFailure(thrown, databaseUrl)
}

/** Why a file of the data directory cannot be read or written. */
export function folderFailure(thrown: unknown, dataDir: string): unknown {
  const fault = causes(thrown)
    .map(diskFault)
    .find((known) => known !== null)
  return fault === undefined
    ? thrown
    : new OperatorError(`TOLLGATE_DATA: the folder ${resolve(dataDir)} cannot be used: ${fault}.`, { cause: thrown })
}

function databaseFailure(thrown: unknown, databaseUrl: string): unknown {
  const all = causes(thrown)
  const said = all.filter((cause) => 'code' in cause || /time-?out|terminated/i.test(cause.message))
  // The driver's own errors, such as a missing password, have no code; a StoreUnavailableError as their outermost error
  // distinguishes them from bugs.
  const last = said.at(-1) ?? (all[0] instanceof StoreUnavailableError ? all.at(-1) : undefined)
  if (last === undefined) return thrown
  const code = 'code' in last ? String(last.code) : ''
  // If a host has two addresses, both failures come as one error without a message.
  const words = last.message === '' ? code : last.message
  const fault = ownValue(DATABASE_FAULTS, code)
  return new OperatorError(
    `DATABASE_URL: the database ${placeOf(databaseUrl)} ${fault === undefined ? 'cannot be used' : fault} (${words}).`,
    { cause: thrown },
  )
}

/** The address without user and password. */
function placeOf(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl)
  return `${decodeURIComponent(pathname.slice(1)) || 'without a name'} at ${hostname || 'localhost'}:${port || '5432'}`
}

/** An error and its causes, outermost first. */
function causes(thrown: unknown): readonly Error[] {
  const found: Error[] = []
  for (let error = thrown; error instanceof Error && found.length < 5; error = error.cause) found.push(error)
  return found
}
