import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { queryText } from './api/endpoint.ts'
import { speakToOperator } from './i18n.ts'
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

type Read = () => Promise<ComponentType>
/** Loads the page of a route. */
const loads = new Map<string, () => Promise<unknown>>()

function page<const Path extends string>(path: Path, read: Read) {
  const component = onDemand(path, read)
  loads.set(path, component.load)
  return createRoute({ getParentRoute: () => root, path, component })
}

/** A page with texts that only operators load. */
function operatorPage<const Path extends string>(path: Path, read: Read) {
  return page(path, async () => {
    const [component] = await Promise.all([read(), speakToOperator()])
    return component
  })
}

/** Each page is a chunk. */
const routeTree = root.addChildren([
  page('/sign-in', async () => (await import('./pages/entry/SignInPage.tsx')).SignInPage),
  page('/sign-up', async () => (await import('./pages/entry/SignUpPage.tsx')).SignUpPage),
  page('/forgot-password', async () => (await import('./pages/entry/ForgotPasswordPage.tsx')).ForgotPasswordPage),
  page('/join', async () => (await import('./pages/entry/JoinPage.tsx')).JoinPage),
  page('/setup', async () => (await import('./pages/entry/SetupPage.tsx')).SetupPage),
  page('/', async () => (await import('./pages/home/HomePage.tsx')).HomePage),
  page('/keys', async () => (await import('./pages/keys/KeysPage.tsx')).KeysPage),
  page('/usage', async () => (await import('./pages/usage/UsagePage.tsx')).UsagePage),
  page('/apps', async () => (await import('./pages/usage/AppsPage.tsx')).AppsPage),
  page('/log', async () => (await import('./pages/usage/LogPage.tsx')).LogPage),
  page('/log/$id', async () => (await import('./pages/usage/RequestPage.tsx')).RequestPage),
  page('/models', async () => (await import('./pages/models/ModelsPage.tsx')).ModelsPage),
  page('/model/$', async () => (await import('./pages/models/ModelPage.tsx')).ModelPage),
  page('/playground', async () => (await import('./pages/playground/PlaygroundPage.tsx')).PlaygroundPage),
  page('/top-up', async () => (await import('./pages/money/TopUpPage.tsx')).TopUpPage),
  page('/ledger', async () => (await import('./pages/money/LedgerPage.tsx')).LedgerPage),
  page('/statement', async () => (await import('./pages/money/StatementView.tsx')).StatementPage),
  page('/settings', async () => (await import('./pages/settings/SettingsPage.tsx')).SettingsPage),
  page('/notices', async () => (await import('./pages/notices/NoticesPage.tsx')).NoticesPage),
  page('/people', async () => (await import('./pages/people/PeoplePage.tsx')).PeoplePage),
  page('/security', async () => (await import('./pages/settings/SecurityPage.tsx')).SecurityPage),
  operatorPage('/operator', async () => (await import('./pages/operator/OperatorHomePage.tsx')).OperatorHomePage),
  operatorPage('/operator/accounts', async () => (await import('./pages/operator/AccountsPage.tsx')).AccountsPage),
  operatorPage(
    '/operator/accounts/$id/statement',
    async () => (await import('./pages/operator/AccountPage.tsx')).AccountStatementPage,
  ),
  operatorPage('/operator/accounts/$id', async () => (await import('./pages/operator/AccountPage.tsx')).AccountPage),
  operatorPage('/operator/users', async () => (await import('./pages/operator/UsersPage.tsx')).UsersPage),
  operatorPage('/operator/codes', async () => (await import('./pages/operator/CodesPage.tsx')).CodesPage),
  operatorPage('/operator/payments', async () => (await import('./pages/operator/PaymentsPage.tsx')).PaymentsPage),
  operatorPage('/operator/providers', async () => (await import('./pages/operator/ProvidersPage.tsx')).ProvidersPage),
  operatorPage(
    '/operator/providers/connect',
    async () => (await import('./pages/operator/connect/ConnectPage.tsx')).ConnectPage,
  ),
  operatorPage('/operator/prices', async () => (await import('./pages/operator/PricesPage.tsx')).PricesPage),
  operatorPage(
    '/operator/customer-prices',
    async () => (await import('./pages/operator/customer-prices/CustomerPricesPage.tsx')).CustomerPricesPage,
  ),
  operatorPage('/operator/catalog', async () => (await import('./pages/operator/CatalogPage.tsx')).CatalogPage),
  operatorPage('/operator/health', async () => (await import('./pages/operator/HealthPage.tsx')).HealthPage),
  operatorPage('/operator/margin', async () => (await import('./pages/operator/MarginPage.tsx')).MarginPage),
  operatorPage('/operator/requests', async () => (await import('./pages/operator/RequestsPage.tsx')).RequestsPage),
  operatorPage(
    '/operator/settings',
    async () => (await import('./pages/operator/OperatorSettingsPage.tsx')).OperatorSettingsPage,
  ),
  operatorPage('/operator/notices', async () => (await import('./pages/operator/notices/NoticesPage.tsx')).NoticesPage),
  operatorPage('/operator/tokens', async () => (await import('./pages/operator/TokensPage.tsx')).TokensPage),
  operatorPage('/operator/ip-blocks', async () => (await import('./pages/operator/IpBlocksPage.tsx')).IpBlocksPage),
  operatorPage('/operator/audit', async () => (await import('./pages/operator/AuditPage.tsx')).AuditPage),
  operatorPage('/operator/events', async () => (await import('./pages/operator/EventsPage.tsx')).EventsPage),
])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Outline height={400} />,
  // A fault of the console itself, or an answer that is not what it should be.
  defaultErrorComponent: ({ error }) => <FailedPlace failure={error} retry={() => window.location.reload()} />,
  scrollRestoration: true,
  // Values stay texts, so an id of digits does not become a number.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const text = queryText(search)
    return text === '' ? '' : `?${text}`
  },
})

/**
 * A link whose page cannot be loaded does not leave the page that shows it: what was typed there is kept.
 */
const last = { wish: '' }
router.history.block({
  enableBeforeUnload: false,
  blockerFn: async ({ action, nextLocation: { pathname, href } }) => {
    last.wish = href
    // A redirection has no page to stay on.
    if (action !== 'PUSH') return false
    const [, , route] = router.getMatchedRoutes(pathname)
    leaving.to = href
    try {
      await loads.get(route?.fullPath ?? '')?.()
      // Another link was followed meanwhile.
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
