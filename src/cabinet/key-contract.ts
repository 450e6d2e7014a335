import { body, filled, flag, list, nullable, object, oneOf, optional, rub, text, time, type Static } from '../schema.ts'
import { KEY_LIMIT_FIELDS, KEY_LIMITS } from '../ledger/key-limits-contract.ts'

export const LimitReset = oneOf(['daily', 'weekly', 'monthly'])
export type LimitReset = Static<typeof LimitReset>

export const Key = object({
  id: text(),
  name: text(),
  label: text('`sk-tg-abc…xyz`: all that is ever shown again.'),
  disabled: flag(),
  limit: nullable(rub()),
  limit_reset: nullable(LimitReset),
  limit_remaining: nullable(rub()),
  limit_resets_at: nullable(time("When the limit's period ends; null without one.")),
  usage: rub(),
  usage_daily: rub(),
  usage_weekly: rub(),
  usage_monthly: rub(),
  expires_at: nullable(time()),
  allowed_models: nullable(list(text())),
  ...KEY_LIMITS,
  created_at: time(),
  last_used_at: nullable(time()),
})
export type Key = Static<typeof Key>

const NAME = filled('', 100)
const ALLOWED_MODELS = list(text('', { minLength: 1 }), 'null = every model.', { maxItems: 1_000 })

export const KeyBody = body({
  limit: optional(nullable(rub('What the key may spend in a period; null or absent = no limit.', { minimum: 0 }))),
  name: NAME,
  limit_reset: optional(nullable(LimitReset, 'null = a limit for the whole life of the key.')),
  expires_at: optional(nullable(time())),
  allowed_models: optional(nullable(ALLOWED_MODELS)),
  ...KEY_LIMIT_FIELDS,
})
export type KeyBody = Static<typeof KeyBody>

export const NewKey = object({ ...Key.fields, key: text() }, 'Shown this once.')
export type NewKey = Static<typeof NewKey>

export const KeyPatch = body({
  name: optional(nullable(NAME)),
  disabled: optional(flag()),
  limit: KeyBody.fields.limit,
  limit_reset: KeyBody.fields.limit_reset,
  expires_at: KeyBody.fields.expires_at,
  allowed_models: KeyBody.fields.allowed_models,
  ...KEY_LIMIT_FIELDS,
})
export const Keys = object({ data: list(Key) })

/** A key for programs that manage the account's API keys; it opens no model. */
export const ManagementKey = object({
  id: text(),
  name: text(),
  label: text(),
  expires_at: nullable(time()),
  created_at: time(),
  last_used_at: nullable(time()),
})
export type ManagementKey = Static<typeof ManagementKey>
export const ManagementKeyBody = body({ name: NAME, expires_at: optional(nullable(time())) })
export type ManagementKeyBody = Static<typeof ManagementKeyBody>
export const NewManagementKey = object({ ...ManagementKey.fields, key: text() }, 'Shown this once.')
export type NewManagementKey = Static<typeof NewManagementKey>
export const ManagementKeys = object({ data: list(ManagementKey) })
