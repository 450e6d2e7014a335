import { resolve } from 'node:path'
import { OperatorError } from '../errors.ts'
import { diskFault } from './sqlite/disk-fault.ts'
import { StoreUnavailableError } from './store-unavailable-error.ts'

/** By the codes of PostgreSQL and of sockets; other failures keep the driver's own text. */
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
  '42501': 'does not let this user do what is needed',
  '25006': 'is read-only: name the primary and not a replica',
  '53100': 'has no disk space left',
}

/**
 * What keeps the store from being opened, as a sentence for the operator; anything that is neither the database nor the
 * disk is a bug and comes back as it was.
 */
export function openFailure(
  thrown: unknown,
  { dataDir, databaseUrl }: { readonly dataDir: string; readonly databaseUrl: string | null },
): unknown {
  if (thrown instanceof OperatorError) return thrown
  return databaseUrl === null ? folderFailure(thrown, dataDir) : databaseFailure(thrown, databaseUrl)
}

/** What keeps a file of the data folder from being read or written. */
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
  // Complaints of the driver, such as a missing password, have no code; that the store became unavailable tells them
  // from a bug.
  const last = said.at(-1) ?? (all[0] instanceof StoreUnavailableError ? all.at(-1) : undefined)
  if (last === undefined) return thrown
  const code = 'code' in last ? String(last.code) : ''
  // Both addresses of a host that has two are told as one error without a message.
  const words = last.message === '' ? code : last.message
  const fault = DATABASE_FAULTS[code]
  return new OperatorError(
    `DATABASE_URL: the database ${placeOf(databaseUrl)} ${fault === undefined ? 'cannot be used' : fault} (${words}).`,
    { cause: thrown },
  )
}

/** Without user and password. */
function placeOf(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl)
  return `${decodeURIComponent(pathname.slice(1)) || 'without a name'} at ${hostname || 'localhost'}:${port || '5432'}`
}

/** An error and what caused it, outermost first. */
function causes(thrown: unknown): readonly Error[] {
  const found: Error[] = []
  for (let error = thrown; error instanceof Error && found.length < 5; error = error.cause) found.push(error)
  return found
}
