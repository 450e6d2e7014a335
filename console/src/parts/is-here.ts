import { useMatch, useRouter } from '@tanstack/react-router'

/** Where a click leads, while the file of that page is on its way; null = nowhere. */
export const leaving: { to: string | null } = { to: null }

/**
 * Whether the user is still on the page that asks. What was typed a moment ago and an answer that comes late must not
 * take back the click that led elsewhere.
 */
export function useIsHere(): () => boolean {
  const router = useRouter()
  const here = useMatch({ strict: false, select: ({ pathname }) => pathname })
  return () => leaving.to === null && bare(router.latestLocation.pathname) === bare(here)
}

function bare(pathname: string): string {
  return pathname.replace(/(?<=.)\/$/, '')
}
