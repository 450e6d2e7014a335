import type { ErrorType } from '../../errors.ts'
import type { Micro } from '../../money.ts'

/** As clients see it (wire.md D-4.2). */
export type JobStatus = 'pending' | 'in_progress' | 'completed' | 'failed' | 'expired' | 'cancelled'

/**
 * Where its submission is: none is out; one is written down and may be on its way; one may have arrived and nobody
 * knows; a provider has it.
 */
export type JobPhase = 'ready' | 'sending' | 'parked' | 'accepted'

/** One way to serve the job, fixed with its price when the job was created. */
export interface JobCandidate {
  readonly endpointId: string
  readonly providerSlug: string
  readonly providerName: string
  readonly upstreamModel: string
  /** Which of the endpoint's prices counts, such as a resolution; null = it has one. */
  readonly variant: string | null
  /** The client's price if this candidate serves it, and our cost; µRUB as text, since JSON has no bigint. */
  readonly costMicro: string
  readonly buyMicro: string
}

/** What changes while the job lives and nothing is searched by. */
export interface JobDetails {
  readonly candidates: readonly JobCandidate[]
  /** Index of the candidate that has it, or had it last. */
  readonly current: number
  /** Indexes of those that refused it. */
  readonly refused: readonly number[]
  /** Submissions written down so far. */
  readonly attempts: number
  /** Fingerprint of the provider's key that the submission went with; null where there is none. */
  readonly keyPrint: string | null
  /** How the adapter finds the job at the provider; null until it is accepted. */
  readonly reference: string | null
  readonly upstreamId: string | null
  /** Times it was asked for, and times in a row without an answer that helps. */
  readonly polls: number
  readonly misses: number
  /** When a provider accepted it, Unix ms. */
  readonly acceptedAtMs: number | null
  /** Videos stored, as files `<id>-0`, `<id>-1` …; 0 again once the owner has removed them. */
  readonly files: number
  readonly costMicro: string
  /** The client's message where the job did not succeed. */
  readonly error: string | null
  readonly errorType: ErrorType | null
  readonly appUrl: string | null
  readonly appTitle: string | null
  readonly sessionId: string | null
}

/** The details of a job that nothing has been done for yet. */
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

/** Everything of a job that a move may change. */
export interface JobState {
  readonly status: JobStatus
  readonly phase: JobPhase
  /** Per cent. */
  readonly progress: number
  /** When it is looked at next, Unix ms; unused once it has ended. */
  readonly dueAtMs: number
  readonly completedAtMs: number | null
  /** When its files are removed. */
  readonly expiresAtMs: number | null
  readonly details: JobDetails
}

export interface NewJob extends JobState {
  readonly id: string
  readonly accountId: string
  readonly keyId: string
  readonly requestId: string
  readonly model: string
  /** The request, encrypted: no prompt lies readable in the store. */
  readonly request: Buffer
  readonly priceVersion: number
  readonly holdMicro: Micro
  readonly createdAtMs: number
  /** Not finished by then, it expires. */
  readonly deadlineMs: number
}

export interface JobRow extends NewJob {
  /** Grows with every change; a change names the one it was made from. */
  readonly version: number
  /** The process that works on it, and until when; empty and 0 where none does. */
  readonly leaseOwner: string
  readonly leaseUntilMs: number
}

/** A move from one version of a job to the next. */
export interface JobMove {
  readonly id: string
  readonly version: number
  readonly state: JobState
  /** The mover goes on with it. */
  readonly keepsLease: boolean
  /** The request in a shorter form, encrypted; absent = it stays. */
  readonly request?: Buffer
}

/** Which jobs of an account to list. */
export interface JobPage {
  readonly limit: number
  /** The job before the first one; null = from the beginning. */
  readonly after: string | null
  /** Oldest first. */
  readonly ascending: boolean
}
