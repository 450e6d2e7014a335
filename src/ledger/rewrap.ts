import { answerPurpose, type IdempotencyStore } from '../store/idempotency/idempotency-store.ts'
import { jobPurpose, type JobStore } from '../store/jobs/job-store.ts'
import type { NoticeStore } from '../store/notices/notice-store.ts'
import type { ResponseStore } from '../store/responses/response-store.ts'
import type { KeyWrap } from './key-wrap.ts'

/**
 * Encrypts the requests of jobs with the first key, so that an old one can be removed; answers their number. A request
 * that no key decrypts stays as it is.
 */
export function rewrapJobs(jobs: Pick<JobStore, 'rewrap'>, keyWrap: KeyWrap): Promise<number> {
  return jobs.rewrap((id, request) => again(keyWrap, jobPurpose(id), request))
}

/**
 * Encrypts kept answers with the first key, so that an old one can be removed. An answer that no key decrypts stays as
 * it is.
 */
export function rewrapAnswers(store: Pick<IdempotencyStore, 'rewrap'>, keyWrap: KeyWrap): Promise<void> {
  return store.rewrap((id, generationId, answer) => again(keyWrap, answerPurpose(id, generationId), answer))
}

/** The same for kept Responses. */
export function rewrapResponses(store: Pick<ResponseStore, 'rewrap'>, keyWrap: KeyWrap): Promise<void> {
  return store.rewrap((purpose, encrypted) => again(keyWrap, purpose, encrypted))
}

/** The same for the secrets of webhooks. */
export function rewrapWebhooks(store: Pick<NoticeStore, 'rewrap'>, keyWrap: KeyWrap): Promise<void> {
  return store.rewrap((purpose, encrypted) => again(keyWrap, purpose, encrypted))
}

function again(keyWrap: KeyWrap, purpose: string, encrypted: Buffer): Buffer {
  try {
    return keyWrap.encrypt(keyWrap.decrypt(encrypted, purpose), purpose)
  } catch {
    return encrypted
  }
}
