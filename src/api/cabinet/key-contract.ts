import {
  body,
  filled,
  flag,
  list,
  nullable,
  object,
  oneOf,
  optional,
  rub,
  text,
  time,
  whole,
  type Static,
} from '../../base/schema.ts'
import { ProofBody } from '../../base/wire-route.ts'
import { KEY_STATE, keyBodies } from '../records/limits-contract.ts'

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
  ...KEY_STATE,
  made_by: nullable(text('The e-mail of the person who made it; null = a program or the operator did.')),
  own: flag('What it has made is yours to read, so you may use it in the playground and replace its secret.'),
})
export type Key = Static<typeof Key>

const NAME = filled('', 100)
const BODIES = keyBodies(NAME, nullable(LimitReset, 'null = a limit for the whole life of the key.'))

export const KeyBody = BODIES.made
export type KeyBody = Static<typeof KeyBody>

export const NewKey = object({ ...Key.fields, key: text() }, 'Shown this once.')
export type NewKey = Static<typeof NewKey>

export const KeyPatch = BODIES.changed
/** People make no more, so their list is one page. */
export const KEYS_PAGE_MAX = 500
export const Keys = object({
  data: list(Key, 'The newest first.'),
  total: whole(),
  makers: list(nullable(text()), 'The e-mails of those who have made keys; null = programs or the operator.'),
})
export type Keys = Static<typeof Keys>
export const KeysQuery = object({
  limit: optional(whole(`1 to ${KEYS_PAGE_MAX}, which is the default.`)),
  offset: optional(whole()),
  by: optional(text('The e-mail of the person who made them.')),
  search: optional(text('A part of the name or the label.')),
  enabled: optional(oneOf(['true'], 'Only keys that are enabled.')),
})

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
export const ManagementKeyBody = body({ name: NAME, expires_at: optional(nullable(time())), ...ProofBody.fields })
export type ManagementKeyBody = Static<typeof ManagementKeyBody>
export const NewManagementKey = object({ ...ManagementKey.fields, key: text() }, 'Shown this once.')
export type NewManagementKey = Static<typeof NewManagementKey>
export const ManagementKeys = object({ data: list(ManagementKey) })
