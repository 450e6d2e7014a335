import type { ApiError, ErrorType } from '../../base/errors.ts'
import type { Usage } from '../../tables/meters.ts'
import { videoUsage } from './video-plan.ts'
import type { JobMove, JobRow, JobState } from '../../ledger/job.ts'
import {
  type JobPorts,
  candidateOf,
  completed,
  ended,
  insuredMicro,
  recordOf,
  decryptOperation,
  withoutPictures,
} from './video-job.ts'

type EndPorts = Pick<JobPorts, 'ledger' | 'clock' | 'cipher'>

/** Charges and completes the job in one commit; false = another process was faster. Its files must be stored before. */
export async function complete(ports: EndPorts, row: JobRow, files: number): Promise<boolean> {
  const nowMs = ports.clock.now()
  const end = completed(row, files, nowMs)
  const { costMicro, buyMicro } = candidateOf(row)
  const record = recordOf(row, end, usageOf(ports, row), nowMs)
  const outcome = await ports.ledger.settle({
    generationId: row.id,
    costMicro: BigInt(costMicro),
    providerCostMicro: BigInt(buyMicro),
    insuredMicro: 0n,
    record,
    job: lastMove(ports, row, end),
  })
  return outcome.status !== 'not_open'
}

/**
 * Ends the job without a charge, in one commit; false = another process was faster. `delivered`: the provider has made
 * the video.
 */
export async function endFree(
  ports: EndPorts,
  row: JobRow,
  status: 'failed' | 'expired' | 'cancelled',
  why: { readonly error: string; readonly errorType: ErrorType | null },
  delivered = false,
): Promise<boolean> {
  const nowMs = ports.clock.now()
  const end = ended(row, status, why, nowMs)
  const record = recordOf(row, end, {}, nowMs)
  const lostMicro = insuredMicro(row, status, delivered)
  const outcome = await ports.ledger.void({
    generationId: row.id,
    insuredMicro: lostMicro,
    // The customer has caused the cost only by cancelling a job that may have been sent.
    ...(status === 'cancelled' ? {} : { blamelessMicro: lostMicro }),
    record,
    job: lastMove(ports, row, end),
  })
  return outcome.status !== 'not_open'
}

/** Whether the job's time is over. */
export function isOver({ clock }: Pick<EndPorts, 'clock'>, { deadlineMs }: JobRow): boolean {
  return clock.now() >= deadlineMs
}

/** Ends a job whose time is over. */
export async function expire(ports: EndPorts, row: JobRow): Promise<void> {
  const minutes = Math.round((row.deadlineMs - row.createdAtMs) / 60_000)
  await endFree(ports, row, 'expired', {
    error: `The video was not finished within ${minutes} minutes`,
    errorType: 'provider_timeout',
  })
}

export function reasonOf(error: ApiError): { readonly error: string; readonly errorType: ErrorType } {
  return { error: error.message, errorType: error.errorType }
}

function lastMove({ cipher }: EndPorts, row: JobRow, state: JobState): JobMove {
  return { id: row.id, version: row.version, state, keepsLease: false, ...withoutPictures(cipher, row) }
}

/** The usage by the stored request. The job's price was computed from it, so without it nothing can be charged. */
function usageOf({ cipher }: EndPorts, row: JobRow): Usage {
  const operation = decryptOperation(cipher, row)
  if (operation === null)
    throw new Error(`Job ${row.id} cannot be read: TOLLGATE_KEK no longer holds the key it was sealed with.`)
  return videoUsage(operation)
}
