import { ALLOWED_MODELS, KEY_LIMIT_FIELDS, KEY_LIMITS, KEY_USAGE } from '../records/key-limits-contract.ts'
import {
  body,
  filled,
  flag,
  list,
  nullable,
  number,
  object,
  oneOf,
  only,
  optional,
  rub,
  text,
  time,
  whole,
  type Static,
} from '../../base/schema.ts'

const RESET = nullable(oneOf(['daily', 'weekly', 'monthly']), 'null = the limit is for the whole life of the key.')
const NAME = filled('', 100)
const MODELS = nullable(ALLOWED_MODELS)
const NONE = nullable(text('Always null.'))
const NO_BYOK = optional(flag('Accepted for clients of OpenRouter, without effect.'))

/** A key in the key management API, in the shape that OpenRouter's clients read. */
export const ManagedKey = object({
  hash: text('Names the key in this API, in the log and in the cabinet.'),
  name: text(),
  label: text('`sk-tg-abc…xyz`: all that is ever shown again.'),
  disabled: flag(),
  limit: nullable(rub()),
  limit_reset: RESET,
  limit_remaining: nullable(rub()),
  ...KEY_USAGE,
  currency: only('RUB'),
  include_byok_in_limit: only(false),
  byok_usage: number('Always 0.'),
  byok_usage_daily: number('Always 0.'),
  byok_usage_weekly: number('Always 0.'),
  byok_usage_monthly: number('Always 0.'),
  expires_at: nullable(time()),
  allowed_models: MODELS,
  ...KEY_LIMITS,
  created_at: time(),
  updated_at: NONE,
  last_used_at: nullable(time()),
  creator_user_id: text('The account.'),
  external_user: NONE,
  workspace_id: text('The account.'),
})
export type ManagedKey = Static<typeof ManagedKey>

export const ManagedKeyBody = body({
  name: NAME,
  limit: optional(nullable(rub('What the key may spend in a period; null = no limit.', { minimum: 0 }))),
  limit_reset: optional(RESET),
  include_byok_in_limit: NO_BYOK,
  expires_at: optional(nullable(time())),
  allowed_models: optional(MODELS),
  ...KEY_LIMIT_FIELDS,
})

export const ManagedKeyPatch = body({
  name: optional(NAME),
  disabled: optional(flag()),
  limit: ManagedKeyBody.fields.limit,
  limit_reset: ManagedKeyBody.fields.limit_reset,
  include_byok_in_limit: NO_BYOK,
  expires_at: ManagedKeyBody.fields.expires_at,
  allowed_models: ManagedKeyBody.fields.allowed_models,
  ...KEY_LIMIT_FIELDS,
})

export const ManagedKeyQuery = object({
  offset: optional(whole('0 if absent.', { minimum: 0 })),
  include_disabled: optional(text('`true` = those that are switched off as well.')),
})
export const ManagedKeys = object({ data: list(ManagedKey) }, 'At most 100, the newest first.')
export const OneManagedKey = object({ data: ManagedKey })
export const NewManagedKey = object({ data: ManagedKey, key: text('Shown this once.') })
export const ManagedKeyDeleted = object({ deleted: only(true) })
