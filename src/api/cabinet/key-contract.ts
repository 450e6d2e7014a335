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
import { ProofBody, type WireRoute } from '../../base/wire-route.ts'
import { Deleted } from '../records/route-rows.ts'
import { KEY_STATE, keyBodies, KeyRotationBody } from '../records/limits-contract.ts'

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
/** People make no more keys than this, so their list is one page. */
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
  search: optional(text('Each of its words is the beginning of a word of the name, the label or an id.')),
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

/** Keys of the account. */
export const KEY_ROUTES = {
  'GET /cabinet/v1/keys': {
    summary: 'The keys of the account.',
    query: KeysQuery,
    answer: Keys,
    example: { query: { limit: '50' } },
  },
  'POST /cabinet/v1/keys': {
    summary: 'Makes a key. `key` is in this answer only.',
    body: KeyBody,
    answer: NewKey,
    status: 201,
    errors: ['conflict'],
    example: { body: { name: 'laptop', limit: 500, limit_reset: 'monthly' } },
  },
  'GET /cabinet/v1/keys/:id': { summary: 'One key.', answer: Key },
  'PATCH /cabinet/v1/keys/:id': {
    summary: 'Changes the fields that are given.',
    body: KeyPatch,
    answer: Key,
    errors: ['not_found'],
    example: { body: { disabled: true, limit: null } },
  },
  'POST /cabinet/v1/keys/:id/rotate': {
    summary: 'Gives a key a new secret; the old one works until its grace ends. `key` is in this answer only.',
    body: KeyRotationBody,
    answer: NewKey,
    example: { body: { grace_seconds: 3_600 } },
  },
  'DELETE /cabinet/v1/keys/:id': { summary: 'Deletes a key.', answer: Deleted },
  'GET /cabinet/v1/management-keys': {
    summary: 'The keys that manage the keys of the account.',
    answer: ManagementKeys,
  },
  'POST /cabinet/v1/management-keys': {
    summary: 'Makes a key for `/v1/keys`, which opens no model. `key` is in this answer only.',
    body: ManagementKeyBody,
    answer: NewManagementKey,
    status: 201,
    errors: ['conflict'],
    example: { body: { name: 'provisioning' } },
  },
  'DELETE /cabinet/v1/management-keys/:id': { summary: 'Deletes it. The keys that it made stay.', answer: Deleted },
} as const satisfies Readonly<Record<string, WireRoute>>
