import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from '@tanstack/react-router'
import { queryText } from './api/endpoint.ts'
import { speakToOperator } from './i18n.ts'
import { Outline } from './parts/Loaded.tsx'
import { NotFound } from './shell/NotFound.tsx'
import { Root } from './shell/Root.tsx'

type Search = Readonly<Record<string, string | undefined>>

const root = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  validateSearch: (search: Search): Search => search,
})

function page<const Path extends string>(path: Path, component: RouteComponent) {
  return createRoute({ getParentRoute: () => root, path, component })
}

function operatorPage<const Path extends string>(path: Path, component: RouteComponent) {
  return createRoute({ getParentRoute: () => root, path, component, beforeLoad: speakToOperator })
}

/** Each page is a chunk. */
const routeTree = root.addChildren([
  page(
    '/sign-in',
    lazyRouteComponent(() => import('./pages/entry/SignInPage.tsx'), 'SignInPage'),
  ),
  page(
    '/sign-up',
    lazyRouteComponent(() => import('./pages/entry/SignUpPage.tsx'), 'SignUpPage'),
  ),
  page(
    '/forgot-password',
    lazyRouteComponent(() => import('./pages/entry/ForgotPasswordPage.tsx'), 'ForgotPasswordPage'),
  ),
  page(
    '/setup',
    lazyRouteComponent(() => import('./pages/entry/SetupPage.tsx'), 'SetupPage'),
  ),
  page(
    '/',
    lazyRouteComponent(() => import('./pages/home/HomePage.tsx'), 'HomePage'),
  ),
  page(
    '/keys',
    lazyRouteComponent(() => import('./pages/keys/KeysPage.tsx'), 'KeysPage'),
  ),
  page(
    '/usage',
    lazyRouteComponent(() => import('./pages/usage/UsagePage.tsx'), 'UsagePage'),
  ),
  page(
    '/apps',
    lazyRouteComponent(() => import('./pages/usage/AppsPage.tsx'), 'AppsPage'),
  ),
  page(
    '/log',
    lazyRouteComponent(() => import('./pages/usage/LogPage.tsx'), 'LogPage'),
  ),
  page(
    '/log/$id',
    lazyRouteComponent(() => import('./pages/usage/RequestPage.tsx'), 'RequestPage'),
  ),
  page(
    '/models',
    lazyRouteComponent(() => import('./pages/models/ModelsPage.tsx'), 'ModelsPage'),
  ),
  page(
    '/model/$',
    lazyRouteComponent(() => import('./pages/models/ModelPage.tsx'), 'ModelPage'),
  ),
  page(
    '/playground',
    lazyRouteComponent(() => import('./pages/playground/PlaygroundPage.tsx'), 'PlaygroundPage'),
  ),
  page(
    '/top-up',
    lazyRouteComponent(() => import('./pages/money/TopUpPage.tsx'), 'TopUpPage'),
  ),
  page(
    '/ledger',
    lazyRouteComponent(() => import('./pages/money/LedgerPage.tsx'), 'LedgerPage'),
  ),
  page(
    '/statement',
    lazyRouteComponent(() => import('./pages/money/StatementPage.tsx'), 'StatementPage'),
  ),
  page(
    '/settings',
    lazyRouteComponent(() => import('./pages/settings/SettingsPage.tsx'), 'SettingsPage'),
  ),
  page(
    '/security',
    lazyRouteComponent(() => import('./pages/settings/SecurityPage.tsx'), 'SecurityPage'),
  ),
  operatorPage(
    '/operator',
    lazyRouteComponent(() => import('./pages/operator/OperatorHomePage.tsx'), 'OperatorHomePage'),
  ),
  operatorPage(
    '/operator/accounts',
    lazyRouteComponent(() => import('./pages/operator/AccountsPage.tsx'), 'AccountsPage'),
  ),
  operatorPage(
    '/operator/accounts/$id/statement',
    lazyRouteComponent(() => import('./pages/operator/AccountStatementPage.tsx'), 'AccountStatementPage'),
  ),
  operatorPage(
    '/operator/accounts/$id',
    lazyRouteComponent(() => import('./pages/operator/AccountPage.tsx'), 'AccountPage'),
  ),
  operatorPage(
    '/operator/users',
    lazyRouteComponent(() => import('./pages/operator/UsersPage.tsx'), 'UsersPage'),
  ),
  operatorPage(
    '/operator/codes',
    lazyRouteComponent(() => import('./pages/operator/CodesPage.tsx'), 'CodesPage'),
  ),
  operatorPage(
    '/operator/payments',
    lazyRouteComponent(() => import('./pages/operator/PaymentsPage.tsx'), 'PaymentsPage'),
  ),
  operatorPage(
    '/operator/providers',
    lazyRouteComponent(() => import('./pages/operator/ProvidersPage.tsx'), 'ProvidersPage'),
  ),
  operatorPage(
    '/operator/providers/connect',
    lazyRouteComponent(() => import('./pages/operator/connect/ConnectPage.tsx'), 'ConnectPage'),
  ),
  operatorPage(
    '/operator/prices',
    lazyRouteComponent(() => import('./pages/operator/PricesPage.tsx'), 'PricesPage'),
  ),
  operatorPage(
    '/operator/catalog',
    lazyRouteComponent(() => import('./pages/operator/CatalogPage.tsx'), 'CatalogPage'),
  ),
  operatorPage(
    '/operator/health',
    lazyRouteComponent(() => import('./pages/operator/HealthPage.tsx'), 'HealthPage'),
  ),
  operatorPage(
    '/operator/margin',
    lazyRouteComponent(() => import('./pages/operator/MarginPage.tsx'), 'MarginPage'),
  ),
  operatorPage(
    '/operator/requests',
    lazyRouteComponent(() => import('./pages/operator/RequestsPage.tsx'), 'RequestsPage'),
  ),
  operatorPage(
    '/operator/settings',
    lazyRouteComponent(() => import('./pages/operator/OperatorSettingsPage.tsx'), 'OperatorSettingsPage'),
  ),
  operatorPage(
    '/operator/tokens',
    lazyRouteComponent(() => import('./pages/operator/TokensPage.tsx'), 'TokensPage'),
  ),
  operatorPage(
    '/operator/ip-blocks',
    lazyRouteComponent(() => import('./pages/operator/IpBlocksPage.tsx'), 'IpBlocksPage'),
  ),
  operatorPage(
    '/operator/audit',
    lazyRouteComponent(() => import('./pages/operator/AuditPage.tsx'), 'AuditPage'),
  ),
  operatorPage(
    '/operator/events',
    lazyRouteComponent(() => import('./pages/operator/EventsPage.tsx'), 'EventsPage'),
  ),
])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Outline height={400} />,
  scrollRestoration: true,
  // Values stay texts, so an id of digits does not become a number.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const text = queryText(search)
    return text === '' ? '' : `?${text}`
  },
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
