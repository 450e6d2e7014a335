import { answerPurpose, type IdempotencyStore } from '../store/idempotency/idempotency-store.ts'
import { jobPurpose, type JobStore } from '../store/jobs/job-store.ts'
import type { KeyWrap } from './key-wrap.ts'

/**
 * Encrypts the requests of jobs with the first key, so that an old one can go; answers how many there are. A request
 * that no key opens stays as it is.
 */
export function rewrapJobs(jobs: Pick<JobStore, 'rewrap'>, keyWrap: KeyWrap): Promise<number> {
  return jobs.rewrap((id, request) => {
    try {
      return keyWrap.encrypt(keyWrap.decrypt(request, jobPurpose(id)), jobPurpose(id))
    } catch {
      return request
    }
  })
}

/** Encrypts kept answers with the first key, so that an old one can go. An answer that no key opens stays as it is. */
export function rewrapAnswers(store: Pick<IdempotencyStore, 'rewrap'>, keyWrap: KeyWrap): Promise<void> {
  return store.rewrap((id, generationId, answer) => {
    const purpose = answerPurpose(id, generationId)
    try {
      return keyWrap.encrypt(keyWrap.decrypt(answer, purpose), purpose)
    } catch {
      return answer
    }
  })
}
