import i18n from 'i18next'
import type { AttemptReason } from '../../../src/ledger/generation-record.ts'
import type { StoryAttempt } from '../../../src/api/records/request-story-contract.ts'
import { errorName } from './failure-text.ts'

/** Why an attempt failed, with the status of its answer; empty for one that answered. */
export function attemptText({ reason, status }: Pick<StoryAttempt, 'reason' | 'status'>): string {
  const why = reason === null ? null : isAttemptReason(reason) ? i18n.t(`attempt.${reason}`) : errorName(reason)
  return [why, status].filter((part) => part !== null).join(' · ')
}

function isAttemptReason(reason: string): reason is AttemptReason {
  return i18n.exists(`attempt.${reason}`)
}
