import type { GenerationRecord } from './generation-record.ts'
import type { Draw, HoldRequest, LedgerOperation, SettleRequest, VoidRequest } from './ledger-store.ts'

/** The place of a record, which is freed when the store has the record. */
export interface JournalTicket {
  readonly segment: number
}

export interface JournalRecord {
  readonly payload: Buffer
  readonly ticket: JournalTicket
}

/** Work left by an outage of the database, on this machine's disk. */
export interface Journal {
  /** Records that an earlier process wrote, and that the store may not have. */
  readonly left: readonly JournalRecord[]
  /** Durable when it resolves; rejects when the journal is full or the disk refuses. */
  append(payloads: readonly Buffer[]): Promise<readonly JournalTicket[]>
  /** Frees the record, since the store has it now. */
  settled(ticket: JournalTicket): void
  /** Records that the store does not have yet. */
  readonly open: number
  close(): Promise<void>
}

/** The end of a hold without a job: the only work that a client waits for and that must not be lost. */
export type HoldEnd = SettleRequest | VoidRequest

/** An end that is on this machine's disk but not yet in the store. */
export interface JournaledEnd {
  readonly operation: HoldEnd
  readonly ticket: JournalTicket
}

/**
 * Ends of holds as records of the journal. Ends of jobs are not among them: the runner of a job repeats its end until
 * the store has it.
 */
export class EndJournal {
  readonly #journal: Journal

  constructor(journal: Journal) {
    this.#journal = journal
  }

  /** Ends that the store does not have yet. */
  get open(): number {
    return this.#journal.open
  }

  /** Ends that an earlier process left. */
  left(): readonly JournaledEnd[] {
    return this.#journal.left.map(endOf)
  }

  /** Durable when it resolves; in the order given. */
  append(operations: readonly HoldEnd[]): Promise<readonly JournalTicket[]> {
    return this.#journal.append(operations.map(payloadOf))
  }

  settled(ticket: JournalTicket): void {
    this.#journal.settled(ticket)
  }
}

/** Whether an operation may go to the journal. */
export function isHoldEnd(operation: LedgerOperation): operation is HoldEnd {
  return (operation.op === 'settle' || operation.op === 'void') && operation.job === undefined
}

/** Amounts are texts, since JSON has no integers of this size. */
interface Payload {
  readonly op: HoldEnd['op']
  readonly generationId: string
  readonly costMicro: string
  readonly providerCostMicro: string
  readonly insuredMicro: string
  readonly blamelessMicro?: string
  readonly record: GenerationRecord | null
  /** The encrypted answer for its Idempotency-Key, in base64; the charge that it names is the cost. */
  readonly claim?: { readonly id: string; readonly answer: string | null }
  /** The kept answer, encrypted, in base64; the charge that it names is the cost. */
  readonly kept?: string
  readonly draw?: DrawPayload
  readonly atMs: number
  readonly day?: string | undefined
}

/**
 * The most bytes of a kept answer for which a record has room besides the answer of a claim. A longer answer is charged
 * but not kept.
 */
const KEPT_BYTES_MAX = 393_216

interface DrawPayload {
  readonly allowance: string
  readonly hold: Omit<HoldRequest, 'amountMicro'> & { readonly amountMicro: string }
}

function payloadOf(operation: HoldEnd): Buffer {
  const { op, generationId, insuredMicro, blamelessMicro, record, draw, atMs, day } = operation
  const costs =
    op === 'settle'
      ? { costMicro: String(operation.costMicro), providerCostMicro: String(operation.providerCostMicro) }
      : { costMicro: '0', providerCostMicro: '0' }
  const claim =
    op === 'settle' && operation.claim !== undefined
      ? {
          claim: {
            id: operation.claim.id,
            answer: operation.claim.answer(operation.costMicro)?.toString('base64') ?? null,
          },
        }
      : {}
  const answer = op === 'settle' ? (operation.kept?.answer(operation.costMicro) ?? null) : null
  const payload: Payload = {
    op,
    generationId,
    ...costs,
    insuredMicro: String(insuredMicro),
    ...(blamelessMicro === undefined ? {} : { blamelessMicro: String(blamelessMicro) }),
    record,
    ...claim,
    ...(answer === null || answer.length > KEPT_BYTES_MAX ? {} : { kept: answer.toString('base64') }),
    ...(draw === undefined ? {} : { draw: drawPayload(draw) }),
    atMs,
    day,
  }
  return Buffer.from(JSON.stringify(payload))
}

function drawPayload({ allowance, hold }: Draw): DrawPayload {
  return { allowance, hold: { ...hold, amountMicro: String(hold.amountMicro) } }
}

/** A draw of an earlier process, whose node draws no more from the allowance. */
function drawOfPayload({ allowance, hold }: DrawPayload): Draw {
  return { allowance, hold: { ...hold, amountMicro: BigInt(hold.amountMicro) }, nodes: null }
}

function endOf({ payload, ticket }: JournalRecord): JournaledEnd {
  // Written by `payloadOf`; the record's checksum shows that it is complete.
  const end = JSON.parse(payload.toString('utf8')) as Payload
  const { op, generationId, costMicro, providerCostMicro, insuredMicro, blamelessMicro, record, draw, atMs, day } = end
  const { claim, kept } = end
  const common = {
    generationId,
    insuredMicro: BigInt(insuredMicro),
    atMs,
    ...(blamelessMicro === undefined ? {} : { blamelessMicro: BigInt(blamelessMicro) }),
    ...(day === undefined ? {} : { day }),
    ...(draw === undefined ? {} : { draw: drawOfPayload(draw) }),
  }
  if (op === 'void') return { operation: { op, ...common, record }, ticket }
  if (record === null) throw new Error(`The journal has a settle of ${generationId} without its log row.`)
  const ended =
    claim === undefined
      ? {}
      : { claim: { id: claim.id, answer: () => (claim.answer === null ? null : Buffer.from(claim.answer, 'base64')) } }
  return {
    operation: {
      op,
      ...common,
      costMicro: BigInt(costMicro),
      providerCostMicro: BigInt(providerCostMicro),
      record,
      ...ended,
      ...(kept === undefined ? {} : { kept: { answer: () => Buffer.from(kept, 'base64') } }),
    },
    ticket,
  }
}
