import type { HoldOutcome, HoldRequest, SettleOutcome, SettleRequest, VoidOutcome, VoidRequest } from './ledger-store.ts'

/**
 * The money of running requests: hold → settle | void, in group commits, with a lease renewed per running request.
 * Constructed by `createLedger({ store, clock, ids, node, maxBatch, queueMax })` in this file.
 */
export interface Ledger {
  /** Takes the worst case of a request out of `available`; a full queue or a dead store rejects with ApiError service_unavailable. */
  hold(request: Omit<HoldRequest, 'op' | 'atMs' | 'leaseUntilMs' | 'node' | 'periods'>): Promise<HoldOutcome>
  /** Durable when it resolves. */
  settle(request: Omit<SettleRequest, 'op' | 'atMs'>): Promise<SettleOutcome>
  void(request: Omit<VoidRequest, 'op' | 'atMs'>): Promise<VoidOutcome>
  /** Recovers the holds of a dead process (single-process store), then starts lease renewal and the sweeper. */
  start(): Promise<void>
  /** Stops timers and waits for queued operations. */
  stop(): Promise<void>
}
