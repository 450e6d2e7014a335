import { ADMIN_SCOPES, OPERATOR_ROLES } from '../../tables/admin-scopes.ts'
import { body, list, nullable, object, oneOf, optional, text, time, type Static } from '../../base/schema.ts'
import { ProofBody } from '../../base/wire-route.ts'
import { EXTERNAL_ID, EXTERNAL_ID_CHANGE } from './record-contract.ts'

export const Scope = oneOf(ADMIN_SCOPES, 'What its caller may do.')
export const OperatorRole = oneOf(OPERATOR_ROLES, 'A named set of scopes.')

export const AdminToken = object(
  {
    id: text(),
    external_id: EXTERNAL_ID,
    name: text('It stands in the audit log as `token:NAME`.'),
    label: text('Enough of the token to recognise it.'),
    scopes: list(Scope),
    state: oneOf(['active', 'expired', 'revoked']),
    created_by: text(),
    created_at: time(),
    expires_at: nullable(time()),
    revoked_at: nullable(time()),
    last_used_at: nullable(time('To the minute.')),
  },
  'A named token for the admin API.',
)
export type AdminToken = Static<typeof AdminToken>

const SCOPES = list(Scope, 'What it may do: none that its maker may not.', { minItems: 1, maxItems: 100 })

export const AdminTokenBody = body({
  name: text('Lower-case letters, digits, `.`, `_`, `-`. One token in force has it.', {
    minLength: 1,
    maxLength: 64,
    pattern: '^[a-z0-9][a-z0-9._-]*$',
  }),
  scopes: optional(SCOPES),
  role: optional(nullable(oneOf(OPERATOR_ROLES, 'In place of `scopes`: those of this role.'))),
  expires_at: optional(nullable(time('Absent = never.'))),
  ...ProofBody.fields,
})
export type AdminTokenBody = Static<typeof AdminTokenBody>

export const AdminTokenPatch = body({
  external_id: EXTERNAL_ID_CHANGE,
  scopes: optional(SCOPES),
  expires_at: optional(nullable(time('null = never.'))),
  ...ProofBody.fields,
})

export const NewAdminToken = object({ ...AdminToken.fields, token: text() })
export const PutAdminToken = object({
  ...AdminToken.fields,
  token: optional(text('In the answer that makes it only.')),
})
