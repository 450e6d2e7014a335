import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { queryText } from './api/endpoint.ts'
import { speakOf } from './i18n.ts'
import { FailedPlace, Outline, tellFailure } from './parts/Loaded.tsx'
import { onDemand } from './parts/OnDemand.tsx'
import { leaving } from './parts/is-here.ts'
import type { Search } from './parts/list-place.ts'
import { NotFound, Root } from './shell/Root.tsx'

const root = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  validateSearch: (search: Search): Search => search,
})

/** A file with the page of that name. */
type Read<Name extends string> = () => Promise<Readonly<Record<Name, ComponentType>>>
/** Loads the page of a route. */
const loads = new Map<string, () => Promise<unknown>>()

/** A page whose texts come with the console. */
function firstPage<const Path extends string, const Name extends string>(path: Path, name: Name, read: Read<Name>) {
  const component = onDemand(name, read)
  loads.set(path, component.load)
  return createRoute({ getParentRoute: () => root, path, component })
}

function page<const Path extends string, const Name extends string>(path: Path, name: Name, read: Read<Name>) {
  return firstPage(path, name, async () => (await Promise.all([read(), speakOf('pages')]))[0])
}

/** A page whose texts only operators load. */
function operatorPage<const Path extends string, const Name extends string>(path: Path, name: Name, read: Read<Name>) {
  return firstPage(path, name, async () => (await Promise.all([read(), speakOf('pages', 'operator')]))[0])
}

/** Each page is a chunk of its own. */
const routeTree = root.addChildren([
  firstPage('/sign-in', 'SignInPage', () => import('./pages/entry/SignInPage.tsx')),
  firstPage('/sign-up', 'SignUpPage', () => import('./pages/entry/SignUpPage.tsx')),
  firstPage('/forgot-password', 'ForgotPasswordPage', () => import('./pages/entry/ForgotPasswordPage.tsx')),
  page('/join', 'JoinPage', () => import('./pages/entry/JoinPage.tsx')),
  firstPage('/setup', 'SetupPage', () => import('./pages/entry/SetupPage.tsx')),
  page('/status', 'StatusPage', () => import('./pages/status/StatusPage.tsx')),
  firstPage('/', 'HomePage', () => import('./pages/home/HomePage.tsx')),
  page('/keys', 'KeysPage', () => import('./pages/keys/KeysPage.tsx')),
  page('/usage', 'UsagePage', () => import('./pages/usage/UsagePage.tsx')),
  page('/apps', 'AppsPage', () => import('./pages/usage/AppsPage.tsx')),
  page('/log', 'LogPage', () => import('./pages/usage/LogPage.tsx')),
  page('/log/refused', 'RefusedPage', () => import('./pages/usage/RefusedPage.tsx')),
  page('/log/$id', 'RequestPage', () => import('./pages/usage/RequestPage.tsx')),
  page('/models', 'ModelsPage', () => import('./pages/models/ModelsPage.tsx')),
  page('/model/$', 'ModelPage', () => import('./pages/models/ModelPage.tsx')),
  page('/playground', 'PlaygroundPage', () => import('./pages/playground/PlaygroundPage.tsx')),
  page('/top-up', 'TopUpPage', () => import('./pages/money/TopUpPage.tsx')),
  page('/ledger', 'LedgerPage', () => import('./pages/money/LedgerPage.tsx')),
  page('/statement', 'StatementPage', () => import('./pages/money/StatementView.tsx')),
  page('/settings', 'SettingsPage', () => import('./pages/settings/SettingsPage.tsx')),
  page('/notices', 'NoticesPage', () => import('./pages/notices/NoticesPage.tsx')),
  page('/people', 'PeoplePage', () => import('./pages/people/PeoplePage.tsx')),
  page('/security', 'SecurityPage', () => import('./pages/settings/SecurityPage.tsx')),
  operatorPage('/operator', 'OperatorHomePage', () => import('./pages/operator/OperatorHomePage.tsx')),
  operatorPage('/operator/accounts', 'AccountsPage', () => import('./pages/operator/AccountsPage.tsx')),
  operatorPage(
    '/operator/accounts/$id/statement',
    'AccountStatementPage',
    () => import('./pages/operator/AccountPage.tsx'),
  ),
  operatorPage('/operator/accounts/$id', 'AccountPage', () => import('./pages/operator/AccountPage.tsx')),
  operatorPage('/operator/users', 'UsersPage', () => import('./pages/operator/UsersPage.tsx')),
  operatorPage('/operator/codes', 'CodesPage', () => import('./pages/operator/CodesPage.tsx')),
  operatorPage('/operator/payments', 'PaymentsPage', () => import('./pages/operator/PaymentsPage.tsx')),
  operatorPage('/operator/providers', 'ProvidersPage', () => import('./pages/operator/ProvidersPage.tsx')),
  operatorPage('/operator/providers/connect', 'ConnectPage', () => import('./pages/operator/connect/ConnectPage.tsx')),
  operatorPage('/operator/prices', 'PricesPage', () => import('./pages/operator/PricesPage.tsx')),
  operatorPage(
    '/operator/customer-prices',
    'CustomerPricesPage',
    () => import('./pages/operator/customer-prices/CustomerPricesPage.tsx'),
  ),
  operatorPage('/operator/held', 'HeldPricesPage', () => import('./pages/operator/HeldPricesPage.tsx')),
  operatorPage('/operator/catalog', 'CatalogPage', () => import('./pages/operator/CatalogPage.tsx')),
  operatorPage('/operator/health', 'HealthPage', () => import('./pages/operator/HealthPage.tsx')),
  operatorPage('/operator/margin', 'MarginPage', () => import('./pages/operator/MarginPage.tsx')),
  operatorPage('/operator/requests', 'RequestsPage', () => import('./pages/operator/RequestsPage.tsx')),
  operatorPage('/operator/refusals', 'RefusalsPage', () => import('./pages/operator/RefusalsPage.tsx')),
  operatorPage('/operator/videos', 'ParkedVideosPage', () => import('./pages/operator/ParkedVideosPage.tsx')),
  operatorPage('/operator/settings', 'OperatorSettingsPage', () => import('./pages/operator/OperatorSettingsPage.tsx')),
  operatorPage('/operator/notices', 'OperatorNoticesPage', () => import('./pages/operator/OperatorNoticesPage.tsx')),
  operatorPage('/operator/tokens', 'TokensPage', () => import('./pages/operator/TokensPage.tsx')),
  operatorPage('/operator/ip-blocks', 'IpBlocksPage', () => import('./pages/operator/IpBlocksPage.tsx')),
  operatorPage('/operator/audit', 'AuditPage', () => import('./pages/operator/AuditPage.tsx')),
  operatorPage('/operator/bills', 'BillsPage', () => import('./pages/operator/BillsPage.tsx')),
  operatorPage('/operator/events', 'EventsPage', () => import('./pages/operator/EventsPage.tsx')),
])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Outline height={400} />,
  // The page fails because of a bug of the console, or an answer of the wrong form.
  defaultErrorComponent: ({ error }) => <FailedPlace failure={error} retry={() => window.location.reload()} />,
  scrollRestoration: true,
  // Values stay texts, so that an id of digits does not become a number.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const text = queryText(search)
    return text === '' ? '' : `?${text}`
  },
})

/** If the page of a link cannot be loaded, the page with the link stays, and so does what was typed there. */
const last = { wish: '' }
router.history.block({
  enableBeforeUnload: false,
  blockerFn: async ({ action, nextLocation: { pathname, href } }) => {
    last.wish = href
    // A redirection has no page on which to stay.
    if (action !== 'PUSH') return false
    const [, , route] = router.getMatchedRoutes(pathname)
    leaving.to = href
    try {
      await loads.get(route?.fullPath ?? '')?.()
      // Another link was clicked meanwhile.
      return last.wish !== href
    } catch (failure) {
      if (last.wish === href)
        tellFailure(failure, { retry: () => router.history.push(href), reload: () => window.location.assign(href) })
      return true
    } finally {
      if (leaving.to === href) leaving.to = null
    }
  },
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
