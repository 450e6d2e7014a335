import type { ReactNode } from 'react'
import { scopes } from 'virtual:admin-scopes'
import type { AdminApi } from '../../../src/api/admin/contract.ts'
import { useProfile } from '../session.tsx'

/** Whether the signed-in operator's role may call a route. The server refuses the call otherwise. */
export function useCan(): (route: keyof AdminApi) => boolean {
  const { scopes: own } = useProfile()
  return (route) => {
    const scope = scopes[route]
    return scope === undefined || own.includes(scope)
  }
}

/** Content for operators who may call a route. */
export function Can({ call, children }: { readonly call: keyof AdminApi; readonly children: ReactNode }) {
  return useCan()(call) ? children : null
}
