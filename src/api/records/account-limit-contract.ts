import { nullable, object, oneOf, rub, time, type Static } from '../../base/schema.ts'

export const LIMIT_RESET = oneOf(['daily', 'weekly', 'monthly'], 'When the limit begins anew; null = never.')

/** The limit that all keys of an account have together, in answers. */
export const ACCOUNT_LIMIT = {
  limit: nullable(rub('What all its keys together may spend in a period; null = no limit.')),
  limit_reset: nullable(LIMIT_RESET),
  limit_used: nullable(rub('Spent in the period that runs; null without a limit.')),
  limit_remaining: nullable(rub('Without what running requests have reserved; null without a limit.')),
  limit_resets_at: nullable(time('null = never.')),
} as const

export const AccountLimit = object(ACCOUNT_LIMIT)
export type AccountLimit = Static<typeof AccountLimit>
