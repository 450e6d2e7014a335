import { NEW_DETAILS, type NewJob } from '../../src/ledger/job.ts'

/** A video job that is due at once. `holdMicro`: the amount of its hold. */
export function newJob(
  owner: { readonly accountId: string; readonly keyId: string },
  id: string,
  holdMicro: bigint,
  { nowMs, ttlMs }: { readonly nowMs: number; readonly ttlMs: number },
  over: Partial<NewJob> = {},
): NewJob {
  return {
    id,
    accountId: owner.accountId,
    keyId: owner.keyId,
    requestId: 'req-1',
    model: 'v/video',
    request: Buffer.from('encrypted'),
    priceVersion: 1,
    holdMicro,
    createdAtMs: nowMs,
    deadlineMs: nowMs + ttlMs,
    status: 'pending',
    phase: 'ready',
    progress: 0,
    dueAtMs: nowMs,
    completedAtMs: null,
    expiresAtMs: null,
    details: NEW_DETAILS,
    ...over,
  }
}
