import { createContext, useContext, useEffect } from 'react'
import type { SessionState } from '../../src/api/cabinet/session-contract.ts'
import type { MemberScope } from '../../src/tables/scopes.ts'

/** The signed-in user and facts of the service, for every component below. */
export const SessionContext = createContext<SessionState | null>(null)

export function useSession(): SessionState {
  const state = useContext(SessionContext)
  if (state === null) throw new Error('The session is read below its provider')
  return state
}

/** Sets the title of the browser's tab. `boot.js` shows the name of the service before the first page is there. */
export function useTitle(title: string): void {
  const { name } = useSession().service.brand
  useEffect(() => {
    document.title = `${title} · ${name}`
    try {
      localStorage.setItem('tollgate-name', name)
    } catch {
      // Without storage the tab has another name for a moment.
    }
  }, [title, name])
}

/** For pages that only a signed-in user can open. */
export function useProfile(): NonNullable<SessionState['profile']> {
  const { profile } = useSession()
  if (profile === null) throw new Error('This page is for signed-in users')
  return profile
}

/** Whether the signed-in user may do something in the account of the session. */
export function useMay(): (scope: MemberScope) => boolean {
  const { account_scopes: own } = useProfile()
  return (scope) => own.includes(scope)
}
