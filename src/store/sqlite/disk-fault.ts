import { StoreUnavailableError } from '../../ledger/ledger-store.ts'
import { ownValue } from '../../base/own-value.ts'

/** SQLite's result codes for faults of the file, not of a statement. */
const SQLITE_FAULTS: Readonly<Record<number, string>> = {
  3: 'permission denied',
  8: 'it is read-only',
  10: 'the disk does not read or write',
  11: 'the database file is damaged',
  13: 'the disk is full',
  14: 'the database file cannot be opened',
  26: 'tollgate.db is not a database',
}

const SYSTEM_FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EIO: 'the disk does not read or write',
  EROFS: 'it is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTDIR: 'a part of the path is a file and not a folder',
  EISDIR: 'it is a folder and not a file',
  EEXIST: 'there is a file of that name',
  ENOENT: 'it does not exist',
  EMFILE: 'the process has no file descriptors left',
  ENFILE: 'the machine has no file descriptors left',
}

/** The fault of the disk under the embedded store, in words; null = the error has another cause. */
export function diskFault(thrown: unknown): string | null {
  if (!(thrown instanceof Error) || !('code' in thrown)) return null
  // The low byte of an extended code is the primary code.
  if ('errcode' in thrown && typeof thrown.errcode === 'number') return SQLITE_FAULTS[thrown.errcode & 0xff] ?? null
  return ownValue(SYSTEM_FAULTS, String(thrown.code)) ?? null
}

/** A fault of the disk becomes "store unavailable"; any other error is returned unchanged. */
export function asUnavailable(thrown: unknown): unknown {
  const fault = diskFault(thrown)
  return fault === null
    ? thrown
    : new StoreUnavailableError(`The embedded store cannot be used: ${fault}.`, { cause: thrown })
}
