import { answerPurpose, type IdempotencyStore } from '../store/idempotency-store.ts'
import type { KeyWrap } from './seal.ts'

/** Seals kept answers with the first key, so that an old one can go. What no key opens any more stays as it is. */
export function resealAnswers(store: Pick<IdempotencyStore, 'reseal'>, keyWrap: KeyWrap): Promise<void> {
  return store.reseal((id, generationId, answer) => {
    const purpose = answerPurpose(id, generationId)
    try {
      return keyWrap.seal(keyWrap.open(answer, purpose), purpose)
    } catch {
      return answer
    }
  })
}
