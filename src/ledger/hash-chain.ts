import { hash } from 'node:crypto'

/** The hash that links an append-only row to the previous one: changing or removing a row breaks every later hash. */
export function chainHash(previous: string, fields: readonly (string | null)[]): string {
  return hash('sha256', previous + JSON.stringify(fields), 'hex')
}

export interface ChainedEntry {
  readonly debit: string
  readonly credit: string
  readonly amountMicro: bigint
  readonly kind: string
  readonly reference: string
  readonly accountId: string
  readonly reason: string | null
  readonly actor: string | null
  readonly atMs: number
}

/**
 * Entries are chained by account. The account's row is locked when an entry is written, so nodes never wait for each
 * other for the chain, and no job has to chain entries later.
 */
export function entryHash(previous: string, entry: ChainedEntry): string {
  const { debit, credit, amountMicro, kind, reference, accountId, reason, actor, atMs } = entry
  return chainHash(previous, [
    debit,
    credit,
    String(amountMicro),
    kind,
    reference,
    accountId,
    reason,
    actor,
    String(atMs),
  ])
}
