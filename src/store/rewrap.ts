import { answerPurpose, type IdempotencyStore } from './idempotency/idempotency-store.ts'
import { jobPurpose, type JobStore } from './jobs/job-store.ts'
import type { NoticeStore } from './notices/notice-store.ts'
import type { ResponseStore } from './responses/response-store.ts'
import { openFor } from '../base/cipher.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'

/**
 * Encrypts the requests of jobs with the first key, so that an old one can be removed; answers their number. A request
 * that no key decrypts stays as it is.
 */
export function rewrapJobs(jobs: Pick<JobStore, 'rewrap'>, keyWrap: KeyWrap): Promise<number> {
  return jobs.rewrap((id, request, accountId) => again(keyWrap, jobPurpose(id), request, accountId))
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
  return store.rewrap((purpose, encrypted, accountId) => again(keyWrap, purpose, encrypted, accountId))
}

/** The same for the addresses of receivers, and the secrets of webhooks. */
export function rewrapWebhooks(store: Pick<NoticeStore, 'rewrap'>, keyWrap: KeyWrap): Promise<void> {
  return store.rewrap((purpose, encrypted, accountId) => again(keyWrap, purpose, encrypted, accountId))
}

/** `accountId` absent = the purpose names whose it is. */
function again(keyWrap: KeyWrap, purpose: string, encrypted: Buffer, accountId?: string | null): Buffer {
  try {
    const opened =
      accountId === undefined
        ? { plain: keyWrap.decrypt(encrypted, purpose), purpose }
        : openFor(keyWrap, encrypted, purpose, accountId)
    return keyWrap.encrypt(opened.plain, opened.purpose)
  } catch {
    return encrypted
  }
}
