import {
  ActionIcon,
  Alert,
  type AlertProps,
  Button,
  Drawer,
  Group,
  type MantineColorScheme,
  SegmentedControl,
  UnstyledButton,
  Text,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useLocation, useNavigate } from '@tanstack/react-router'
import { Fragment, type ReactNode, useEffect, useRef } from 'react'
import type { Language } from '../../../src/api/cabinet/session-contract.ts'
import { setProfile, useAct, useEnterAccount, useRead } from '../api/hooks.ts'
import { currentLanguage, speak } from '../i18n.ts'
import { copyAmount, Money } from '../parts/cells.tsx'
import { Dialog, dialogName } from '../parts/Dialog.tsx'
import { onDemand } from '../parts/OnDemand.tsx'
import { tellFailure } from '../parts/Loaded.tsx'
import {
  AccountsIcon,
  AutoIcon,
  DarkIcon,
  LightIcon,
  MarginIcon,
  MenuIcon,
  NoticesIcon,
  SearchIcon,
  SecurityIcon,
  SettingsIcon,
  SignOutIcon,
  SwitchIcon,
  WalletIcon,
  WarningIcon,
} from '../parts/icons.ts'
import { format, t } from '../parts/words.ts'
import { today } from '../parts/zoned-day.ts'
import { useMay, useProfile, useSession } from '../session.tsx'
import { MenuButton } from './MenuButton.tsx'
import { CUSTOMER, openedBy, OPERATOR } from './navigation.ts'
import css from './shell.module.css'

const SERVICE_LINKS = ['support', 'offer', 'privacy'] as const

/** The two home pages, whose links match exactly: every other address begins with one of them. */
const HOMES: ReadonlySet<string> = new Set(['/', '/operator'])

/** The frame of the console: the navigation, the account and the page. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const { service } = useSession()
  const [opened, { open, close }] = useDisclosure(false)
  const { pathname } = useLocation()
  const main = useRef<HTMLElement>(null)
  const before = useRef(pathname)
  useEffect(() => {
    close()
    // A screen reader continues at the new page, not at the link.
    if (before.current !== pathname) main.current?.focus({ preventScroll: true })
    before.current = pathname
  }, [pathname, close])
  return (
    <div className={css.shell}>
      <a href="#content" className="skip">
        {t('shell.skip')}
      </a>
      <header className={`${css.bar} off-paper`}>
        <Group gap="xs" wrap="nowrap">
          <ActionIcon
            className={css.burger ?? ''}
            variant="subtle"
            color="gray"
            size="lg"
            onClick={open}
            aria-label={t('shell.menu')}
          >
            <MenuIcon />
          </ActionIcon>
          <Link to="/" className={css.home} aria-label={`${service.brand.name} · ${t('nav.home')}`}>
            <Brand />
          </Link>
        </Group>
        <Group gap={6} wrap="nowrap" miw={0}>
          <FinderButton />
          <Balance />
          <span className={css.wide}>
            <Preferences />
          </span>
          <UserMenu />
        </Group>
      </header>
      <aside className={`${css.side} off-paper`}>
        <Navigation />
      </aside>
      <Drawer {...dialogName('menu')} opened={opened} onClose={close} size={290} title={<Brand />}>
        <Navigation />
        <Group mt="lg" gap="xs">
          <Preferences />
        </Group>
      </Drawer>
      <main className={css.main} id="content" tabIndex={-1} ref={main} onClick={(event) => void copyAmount(event)}>
        <Notices />
        {children}
        {(service.status_page || SERVICE_LINKS.some((name) => service.brand[name] !== '')) && <ServiceLinks />}
      </main>
    </div>
  )
}

const Finder = onDemand('Finder', () => import('./Finder.tsx'), 120)

/** Opens the search, as ⌘K and Ctrl+K do. */
function FinderButton() {
  const [opened, { open, close }] = useDisclosure(false)
  // Also while something is typed.
  useHotkeys([['mod+K', open, { usePhysicalKeys: true }]], [], true)
  return (
    <>
      <UnstyledButton
        className={css.find}
        onClick={open}
        aria-label={t('find.open')}
        aria-keyshortcuts="Meta+K Control+K"
      >
        <SearchIcon size={17} aria-hidden />
        <span className={css.wide} data-keys={isMac ? '⌘K' : 'Ctrl K'}>
          {t('find.short')}
        </span>
      </UnstyledButton>
      <Dialog name="find" of={opened} close={close} size="lg" title={t('find.open')}>
        <Finder close={close} />
      </Dialog>
    </>
  )
}

const isMac = /mac|iphone|ipad/i.test(navigator.userAgent)

function Navigation() {
  const profile = useProfile()
  const { role } = profile
  const { pathname } = useLocation()
  const navigate = useNavigate()
  const isOperator = pathname.startsWith('/operator')
  return (
    <nav aria-label={t('shell.navigation')}>
      {role === 'admin' && (
        <SegmentedControl
          fullWidth
          mb="sm"
          value={isOperator ? 'operator' : 'cabinet'}
          onChange={(value) => void navigate({ to: value === 'operator' ? '/operator' : '/' })}
          data={[
            { value: 'cabinet', label: t('shell.cabinet') },
            { value: 'operator', label: t('shell.operator') },
          ]}
          aria-label={t('shell.area')}
        />
      )}
      {openedBy(profile, isOperator && role === 'admin' ? OPERATOR : CUSTOMER).map(({ name, items }) =>
        name === 'more' ? (
          <details
            key={name}
            className={css.group}
            open={items.some(({ to }) => pathname === to || pathname.startsWith(`${to}/`))}
          >
            <summary className={css.groupName}>{t('nav.more')}</summary>
            <Entries of={items} />
          </details>
        ) : (
          <div key={name} className={css.group}>
            <p className={css.groupName}>{t(`nav.${name}`)}</p>
            <Entries of={items} />
          </div>
        ),
      )}
    </nav>
  )
}

function Entries({ of }: { readonly of: ReturnType<typeof openedBy>[number]['items'] }) {
  const { pathname } = useLocation()
  return (
    <ul>
      {of.map(({ to, name, icon: ItemIcon, tabs = [] }) => (
        <li key={to}>
          <Link
            to={to}
            className={css.link}
            activeOptions={{ exact: HOMES.has(to) }}
            activeProps={{ 'aria-current': 'page' }}
            {...(tabs.includes(pathname) ? { 'aria-current': 'page' } : {})}
          >
            <ItemIcon size={18} stroke={1.7} aria-hidden />
            {t(`nav.${name}`)}
          </Link>
        </li>
      ))}
    </ul>
  )
}

/** The balance of the own account; on the operator's pages, what the business has earned today. */
function Balance() {
  const { pathname } = useLocation()
  const { scopes } = useProfile()
  if (!pathname.startsWith('/operator')) return <OwnBalance />
  return scopes.includes('usage:read') ? <Earned /> : null
}

function Earned() {
  const { service } = useSession()
  const day = today(service.service_timezone)
  const usage = useRead('GET /admin/v1/usage', {
    query: { group_by: 'day', from: new Date(`${day}T12:00:00Z`).toISOString() },
  })
  if (usage.data === undefined) return null
  const earned = usage.data.data.reduce((sum, row) => sum + (row.day === day ? row.revenue : 0), 0)
  return (
    <Link
      to="/operator/margin"
      className={css.balance}
      aria-label={t('shell.earned', { amount: format.money(earned) })}
      title={t('shell.earned', { amount: format.money(earned) })}
    >
      <MarginIcon size={17} stroke={1.8} aria-hidden />
      <Money of={earned} />
    </Link>
  )
}

function OwnBalance() {
  const may = useMay()
  const summary = useRead('GET /cabinet/v1/summary', {})
  if (summary.data === undefined) return null
  return (
    <Link
      to={may('money:write') ? '/top-up' : '/'}
      className={css.balance}
      aria-label={t('shell.balance', { amount: format.money(summary.data.money.balance) })}
    >
      <WalletIcon size={17} stroke={1.8} aria-hidden />
      <Money of={summary.data.money.balance} />
    </Link>
  )
}

function UserMenu() {
  const profile = useProfile()
  const others = profile.accounts.filter(({ account }) => account !== profile.account_id)
  const initials = initialsOf(profile.name === '' ? profile.email : profile.name)
  const client = useQueryClient()
  const go = useEnterAccount()
  const signOut = useAct('POST /cabinet/v1/sign-out', {
    done: () => {
      client.clear()
      // A full page load, so that nothing of this user stays in memory.
      window.location.assign('/sign-in')
    },
  })
  return (
    <MenuButton
      className={css.avatar}
      label={`${initials} · ${t('shell.user_menu', { email: profile.email })}`}
      face={initials}
      entries={[
        { heading: profile.email },
        { label: t('nav.settings'), icon: <SettingsIcon size={17} />, to: { to: '/settings' } },
        { label: t('nav.security'), icon: <SecurityIcon size={17} />, to: { to: '/security' } },
        ...others.map(({ account, name }) => ({
          label: t('shell.go_to', { name: name === '' ? account : name }),
          icon: <SwitchIcon size={17} />,
          act: () => go(account),
        })),
        'line',
        { label: t('shell.sign_out'), icon: <SignOutIcon size={17} />, act: () => signOut.mutate({}) },
      ]}
    />
  )
}

/** What the operator announces; nothing where they announce nothing. */
export function Announcement(props: Pick<AlertProps, 'mb'>) {
  const { text, link } = useSession().service.announcement
  return text === '' ? null : (
    <Alert color="sea" icon={<NoticesIcon />} title={text} {...props}>
      {link !== '' && <a href={link}>{t('shell.more')}</a>}
    </Alert>
  )
}

/** Messages above every page: maintenance, a closed account, a step that is still to be done. */
function Notices() {
  const { service } = useSession()
  const profile = useProfile()
  return (
    <div className={css.notices}>
      <Announcement />
      {service.maintenance !== null && (
        <Alert color="yellow" icon={<WarningIcon />} title={t('shell.maintenance')}>
          {service.maintenance.message}
        </Alert>
      )}
      {profile.account_status !== 'active' && (
        <Alert color="red" icon={<WarningIcon />} title={t(`shell.account_${profile.account_status}`)} />
      )}
      <Viewing />
      {profile.must_enrol_totp && (
        <Alert color="yellow" icon={<WarningIcon />} title={t('shell.enrol')}>
          <Link to="/security">{t('shell.enrol_link')}</Link>
        </Alert>
      )}
    </div>
  )
}

/** Says that an operator looks at a customer's account, and leads back. */
function Viewing() {
  const { account_role: role, account_id: id, accounts } = useProfile()
  const enter = useEnterAccount(`/operator/accounts/${id}`)
  if (role !== 'viewer') return null
  const own = accounts.find(({ account }) => account !== id)
  const name = accounts.find(({ account }) => account === id)?.name ?? ''
  return (
    <Alert color="sea" icon={<AccountsIcon />} title={t('shell.viewing', { name: name === '' ? id : name })}>
      {own !== undefined && (
        <Button variant="default" size="compact-sm" onClick={() => enter(own.account)}>
          {t('shell.viewing_end')}
        </Button>
      )}
    </Alert>
  )
}

function initialsOf(name: string): string {
  const words = name.split(/[\s.@_-]+/).filter((word) => word !== '')
  return words
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase() ?? '')
    .join('')
}

/** The operator's support and papers, below each page. */
export function ServiceLinks() {
  const { brand, status_page: hasStatus } = useSession().service
  return (
    <Text component="footer" size="xs" c="dimmed" ta="center" p="md" className="off-paper">
      {brand.name}
      {SERVICE_LINKS.map(
        (name) =>
          brand[name] !== '' && (
            <Fragment key={name}>
              {' · '}
              <a href={brand[name]}>{t(`shell.${name}`)}</a>
            </Fragment>
          ),
      )}
      {hasStatus && (
        <>
          {' · '}
          <Link to="/status">{t('service_status.link')}</Link>
        </>
      )}
    </Text>
  )
}

/** Name and logo of the service, as the operator has set them. */
export function Brand() {
  const { brand } = useSession().service
  return (
    <span className={css.brand}>
      {brand.logo === '' ? <OwnLogo /> : <img src={brand.logo} alt="" height="28" />}
      {brand.name}
    </span>
  )
}

function OwnLogo() {
  return (
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--mantine-color-sea-7)" />
      <path d="M8 24V11m16 13V11M8 14h16" stroke="#fff" strokeWidth="3" strokeLinecap="round" fill="none" />
      <path
        d="M13 24v-5a3 3 0 0 1 6 0v5"
        stroke="var(--mantine-color-sea-2)"
        strokeWidth="2.5"
        strokeLinecap="round"
        fill="none"
      />
    </svg>
  )
}

/** The choice of language and theme. It is saved for the user, or before sign-in in this browser. */
export function Preferences() {
  return (
    <>
      <LanguageSwitch />
      <ThemeSwitch />
    </>
  )
}

function useSaveWish(): (wish: { readonly language?: Language; readonly theme?: MantineColorScheme }) => void {
  const { profile } = useSession()
  const client = useQueryClient()
  const save = useAct('PATCH /cabinet/v1/profile', { done: (answer) => setProfile(client, answer) })
  return (wish) => {
    if (profile !== null) save.mutate({ body: wish })
  }
}

function LanguageSwitch() {
  const save = useSaveWish()
  const other: Language = currentLanguage() === 'ru' ? 'en' : 'ru'
  const change = (): void => {
    speak(other).catch((failure: unknown) => tellFailure(failure, { retry: change }))
    save({ language: other })
  }
  return (
    <Button
      variant="subtle"
      color="gray"
      size="compact-sm"
      onClick={change}
      lang={other}
      aria-label={t('shell.switch_language')}
    >
      {other === 'ru' ? 'Русский' : 'English'}
    </Button>
  )
}

function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const save = useSaveWish()
  const icons = { light: <LightIcon size={19} />, dark: <DarkIcon size={19} />, auto: <AutoIcon size={19} /> }
  const change = (theme: MantineColorScheme): void => {
    setColorScheme(theme)
    save({ theme })
  }
  return (
    <MenuButton
      className={css.iconButton}
      label={t('shell.theme')}
      face={icons[colorScheme]}
      entries={(['light', 'dark', 'auto'] as const).map((theme) => ({
        label: t(`theme.${theme}`),
        icon: icons[theme],
        act: () => change(theme),
      }))}
    />
  )
}
