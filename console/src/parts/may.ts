import type { MemberScope } from '../../../src/tables/member-scopes.ts'
import { useProfile } from '../session.tsx'

/** Whether the signed-in user may do something in the account of the session. */
export function useMay(): (scope: MemberScope) => boolean {
  const { account_scopes: own } = useProfile()
  return (scope) => own.includes(scope)
}
