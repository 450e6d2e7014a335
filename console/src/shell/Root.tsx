import { Button, Center, Group, Loader, useMantineColorScheme } from '@mantine/core'
import { Link, Navigate, Outlet, useLocation, useMatches } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import type { SessionState } from '../../../src/api/cabinet/session-contract.ts'
import { useRead } from '../api/hooks.ts'
import { currentLanguage, speak } from '../i18n.ts'
import { browserZone } from '../parts/format.ts'
import { Empty, FailedPlace, tellFailure } from '../parts/Loaded.tsx'
import { Page } from '../parts/Page.tsx'
import { setZone, t, useReader } from '../parts/words.ts'
import { SessionContext, useSession } from '../session.tsx'
import { Brand, Preferences, ServiceLinks, Shell } from './Shell.tsx'
import css from './shell.module.css'

const ENTERED = 'tollgate-entered'
const ENTRY_PATHS: readonly string[] = ['/sign-in', '/sign-up', '/forgot-password', '/setup', '/join']

/** Shows the entry pages before sign-in, and the console after it. */
export function Root() {
  const session = useRead('GET /cabinet/v1/session', {})
  if (session.data !== undefined) {
    return (
      <SessionContext value={session.data}>
        <Entered state={session.data} />
      </SessionContext>
    )
  }
  return (
    <Center mih="100vh" p="md">
      {session.isError ? (
        <FailedPlace failure={session.error} retry={() => void session.refetch()} />
      ) : (
        <Loader aria-label="Loading" />
      )}
    </Center>
  )
}

function Entered({ state }: { readonly state: SessionState }) {
  setZone(state.profile?.timezone ?? browserZone())
  useReader()
  const { pathname: wished, searchStr } = useLocation()
  // While the next page loads, the address is already that of the next page and the outlet still shows the old one.
  const shown = useMatches({ select: (matches) => matches.at(-1)?.fullPath ?? '' })
  useWishes(state)
  useEntered(state.profile)
  useAccent(state.service.brand.accent)
  if (wished === '/status' && state.service.status_page)
    return <OpenFrame look="open">{shown === '/status' && <Outlet />}</OpenFrame>
  if (state.profile === null) {
    if (!ENTRY_PATHS.includes(wished))
      return <Navigate to="/sign-in" search={wished === '/' ? {} : { next: `${wished}${searchStr}` }} replace />
    return <EntryFrame>{ENTRY_PATHS.includes(shown) && <Outlet />}</EntryFrame>
  }
  // A signed-in user may follow these links too.
  if (wished === '/setup' || wished === '/join')
    return (
      <EntryFrame>
        <Outlet />
      </EntryFrame>
    )
  if (ENTRY_PATHS.includes(wished)) return <Navigate to={ownPath(new URLSearchParams(searchStr).get('next'))} replace />
  return (
    <Shell>
      <Outlet />
    </Shell>
  )
}

/** Accepts only a path of this console, so that a link cannot lead to another site. */
function ownPath(wish: string | null): string {
  return wish !== null && /^\/(?![/\\])/.test(wish) ? wish : '/'
}

/** Applies the user's language and theme, in whatever browser they use. */
function useWishes({ profile }: SessionState): void {
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const language = profile?.language ?? null
  const theme = profile?.theme ?? null
  useEffect(() => {
    if (language !== null && language !== currentLanguage()) speak(language).catch(tellFailure)
  }, [language])
  useEffect(() => {
    if (theme !== null) setColorScheme(theme)
  }, [theme, setColorScheme])
}

/** Loads the colours anew when the operator changes them. */
function useAccent(accent: string): void {
  const loaded = useRef(accent)
  useEffect(() => {
    if (accent === loaded.current) return
    loaded.current = accent
    document.querySelector('link[href^="/brand.css"]')?.setAttribute('href', `/brand.css?${accent.slice(1)}`)
  }, [accent])
}

/**
 * Stores who is signed in in this browser, and for which account: for `boot.js`, so that it can request the balance
 * early, and for the other tabs. A tab that shows somebody else would act for them, so it is loaded anew.
 */
function useEntered(profile: SessionState['profile']): void {
  const who = profile === null ? 'no' : `${profile.user_id} ${profile.account_id}`
  useEffect(() => {
    try {
      localStorage.setItem(ENTERED, who)
    } catch {
      // Without storage the balance is requested a little later.
    }
    const hear = ({ key, newValue }: StorageEvent): void => {
      if (key === ENTERED && newValue !== null && newValue !== who) window.location.reload()
    }
    window.addEventListener('storage', hear)
    return () => window.removeEventListener('storage', hear)
  }, [who])
}

/** The frame of the pages for anybody. */
function OpenFrame({ look, children }: { readonly look: 'entryMain' | 'open'; readonly children: ReactNode }) {
  return (
    <div className={css.entry}>
      <header className={css.entryHead}>
        {look === 'entryMain' ? (
          <Brand />
        ) : (
          <Link to="/" className={css.openHome ?? ''}>
            <Brand />
          </Link>
        )}
        <Group gap={4}>
          <Preferences />
        </Group>
      </header>
      <main className={css[look]} id="content">
        {children}
      </main>
      <ServiceLinks />
    </div>
  )
}

/** The frame of the pages before sign-in. */
function EntryFrame({ children }: { readonly children: ReactNode }) {
  const { brand } = useSession().service
  return (
    <OpenFrame look="entryMain">
      <section className={css.pitch} aria-label={brand.name}>
        <p className={css.slogan}>{t('entry.slogan')}</p>
        <ul>
          <li>{t('entry.point_one')}</li>
          <li>{t('entry.point_two')}</li>
          <li>{t('entry.point_three')}</li>
        </ul>
      </section>
      <div className={css.entryCard}>{children}</div>
    </OpenFrame>
  )
}

export function NotFound() {
  useReader()
  return (
    <Page title={t('shell.not_found')}>
      <Empty
        picture="lost"
        title={t('shell.not_found_text')}
        action={
          <Button component={Link} to="/" mt="sm">
            {t('nav.home')}
          </Button>
        }
      />
    </Page>
  )
}
