import type { ApiError } from '../base/errors.ts'
import type { MemberRole } from '../tables/member-scopes.ts'
import { reasonError } from '../base/refusals.ts'

/** The refusal of what somebody's role in their account does not allow. */
export function roleNeeded(role: MemberRole): ApiError {
  return reasonError(
    'access_denied',
    'role_needed',
    { role },
    `Your role in this account, ${role}, does not allow this`,
  )
}
