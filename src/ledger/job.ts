import type { ErrorType } from '../base/errors.ts'
import type { Micro } from '../base/money.ts'

/** The status that clients see (wire.md D-4.2). */
export type JobStatus = 'pending' | 'in_progress' | 'completed' | 'failed' | 'expired' | 'cancelled'

/** Whether a job continues, and so keeps its hold open. */
export function isLive({ status }: { readonly status: JobStatus }): boolean {
  return status === 'pending' || status === 'in_progress'
}

/**
 * The state of a job's submission: `ready` = none is under way; `sending` = one is recorded and may be on its way;
 * `parked` = one may have arrived, and nobody knows; `accepted` = a provider has the job.
 */
export type JobPhase = 'ready' | 'sending' | 'parked' | 'accepted'

/** One way to serve the job, fixed with its price when the job was created. */
export interface JobCandidate {
  readonly endpointId: string
  readonly providerSlug: string
  readonly providerName: string
  readonly upstreamModel: string
  /** The key of the endpoint's price, such as a resolution; null = the endpoint has one price. */
  readonly variant: string | null
  /** The client's price with this candidate, and our cost, in µRUB as text, since JSON has no bigint. */
  readonly costMicro: string
  readonly buyMicro: string
  /** The names of the conditions of the two prices, as in the log; null or absent = none. */
  readonly condition?: string | null
  readonly billedCondition?: string | null
}

/**
 * Fields that change during the job's life and by which nobody searches. A new one is optional: jobs of an older
 * release do not have it.
 */
export interface JobDetails {
  readonly candidates: readonly JobCandidate[]
  /** The index of the candidate that has the job, or had it last. */
  readonly current: number
  /** The indexes of the candidates that refused it. */
  readonly refused: readonly number[]
  /** The number of recorded submissions. */
  readonly attempts: number
  /** The fingerprint of the provider key with which it was submitted; null = no key was used. */
  readonly keyPrint: string | null
  /** The adapter's reference to the job; null until it is accepted. */
  readonly reference: string | null
  readonly upstreamId: string | null
  /** The number of polls, and the number of the last polls in a row without a useful answer. */
  readonly polls: number
  readonly misses: number
  /** When a provider accepted it, Unix ms. */
  readonly acceptedAtMs: number | null
  /** The number of stored videos, which are the files `<id>-0`, `<id>-1` …; 0 after the owner has removed them. */
  readonly files: number
  readonly costMicro: string
  /** The message for the client if the job failed. */
  readonly error: string | null
  readonly errorType: ErrorType | null
  readonly appUrl: string | null
  readonly appTitle: string | null
  readonly sessionId: string | null
  /** The client's own user; absent = it named none. */
  readonly endUser?: string
  /** The markup of the account or its group, included in the candidates' costs; absent = none. */
  readonly markup?: string
}

/** The details of a job before any work on it. */
export const NEW_DETAILS: JobDetails = {
  candidates: [],
  current: 0,
  refused: [],
  attempts: 0,
  keyPrint: null,
  reference: null,
  upstreamId: null,
  polls: 0,
  misses: 0,
  acceptedAtMs: null,
  files: 0,
  costMicro: '0',
  error: null,
  errorType: null,
  appUrl: null,
  appTitle: null,
  sessionId: null,
}

/** The fields of a job that a move may change. */
export interface JobState {
  readonly status: JobStatus
  readonly phase: JobPhase
  /** Percent. */
  readonly progress: number
  /** The time of the next work on it, Unix ms; unused after the job has ended. */
  readonly dueAtMs: number
  readonly completedAtMs: number | null
  /** The time when its files are removed. */
  readonly expiresAtMs: number | null
  readonly details: JobDetails
}

export interface NewJob extends JobState {
  readonly id: string
  readonly accountId: string
  readonly keyId: string
  readonly requestId: string
  readonly model: string
  /** The request, encrypted: the store has no readable prompt. */
  readonly request: Buffer
  readonly priceVersion: number
  readonly holdMicro: Micro
  readonly createdAtMs: number
  /** A job that is not finished at this time expires. */
  readonly deadlineMs: number
}

export interface JobRow extends NewJob {
  /** Grows with every change; a change names the version on which it is based. */
  readonly version: number
  /** The process that works on it, and the end of its lease; empty and 0 = none does. */
  readonly leaseOwner: string
  readonly leaseUntilMs: number
}

/** A move from one version of a job to the next. */
export interface JobMove {
  readonly id: string
  readonly version: number
  readonly state: JobState
  /** Whether the process that moves it continues to work on it. */
  readonly keepsLease: boolean
  /** The request in a shorter form, encrypted; absent = it stays unchanged. */
  readonly request?: Buffer
}

/** The jobs of an account to list. */
export interface JobPage {
  readonly limit: number
  /** The job before the first one of the page; null = from the beginning. */
  readonly after: string | null
  /** Whether the oldest comes first. */
  readonly ascending: boolean
}
