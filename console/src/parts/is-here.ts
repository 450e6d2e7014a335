import { useMatch, useRouter } from '@tanstack/react-router'

/** The target of a link that was clicked, while that page loads; null = none. */
export const leaving: { to: string | null } = { to: null }

/**
 * Whether the user is still on the page of this component. Delayed input or a late answer must not undo a click on a
 * link to another page.
 */
export function useIsHere(): () => boolean {
  const router = useRouter()
  const here = useMatch({ strict: false, select: ({ pathname }) => pathname })
  return () => leaving.to === null && bare(router.latestLocation.pathname) === bare(here)
}

function bare(pathname: string): string {
  return pathname.replace(/(?<=.)\/$/, '')
}
