/** A page of the console; `$id` and `$` of a route, and the token of a link, are filled in by whoever opens it. */
export interface ConsolePage {
  /** Of its pictures. */
  readonly name: string
  readonly route: string
  readonly who: 'stranger' | 'customer' | 'operator'
  /** A selector that appears with its data; absent = its heading. */
  readonly until?: string
}

const CHART = 'main [role=slider] svg'

/** Every route of the router, in its order. */
export const CONSOLE_PAGES: readonly ConsolePage[] = [
  { name: 'sign-in', route: '/sign-in', who: 'stranger' },
  { name: 'sign-up', route: '/sign-up', who: 'stranger' },
  { name: 'forgot-password', route: '/forgot-password', who: 'stranger' },
  { name: 'join', route: '/join', who: 'stranger' },
  { name: 'setup', route: '/setup', who: 'stranger' },
  { name: 'status', route: '/status', who: 'stranger' },
  { name: 'home', route: '/', who: 'customer', until: CHART },
  { name: 'keys', route: '/keys', who: 'customer' },
  { name: 'usage', route: '/usage', who: 'customer', until: CHART },
  { name: 'apps', route: '/apps', who: 'customer' },
  { name: 'log', route: '/log', who: 'customer' },
  { name: 'refused', route: '/log/refused', who: 'customer' },
  { name: 'request', route: '/log/$id', who: 'customer' },
  { name: 'models', route: '/models', who: 'customer' },
  { name: 'model', route: '/model/$', who: 'customer' },
  { name: 'playground', route: '/playground', who: 'customer' },
  { name: 'top-up', route: '/top-up', who: 'customer' },
  { name: 'ledger', route: '/ledger', who: 'customer' },
  { name: 'statement', route: '/statement', who: 'customer' },
  { name: 'settings', route: '/settings', who: 'customer' },
  { name: 'notices', route: '/notices', who: 'customer' },
  { name: 'people', route: '/people', who: 'customer' },
  { name: 'security', route: '/security', who: 'customer' },
  { name: 'operator-home', route: '/operator', who: 'operator', until: CHART },
  { name: 'operator-accounts', route: '/operator/accounts', who: 'operator' },
  { name: 'operator-account-statement', route: '/operator/accounts/$id/statement', who: 'operator' },
  { name: 'operator-account', route: '/operator/accounts/$id', who: 'operator' },
  { name: 'operator-users', route: '/operator/users', who: 'operator' },
  { name: 'operator-codes', route: '/operator/codes', who: 'operator' },
  { name: 'operator-payments', route: '/operator/payments', who: 'operator' },
  { name: 'operator-providers', route: '/operator/providers', who: 'operator' },
  { name: 'operator-connect', route: '/operator/providers/connect', who: 'operator' },
  { name: 'operator-prices', route: '/operator/prices', who: 'operator' },
  { name: 'operator-customer-prices', route: '/operator/customer-prices', who: 'operator' },
  { name: 'operator-held', route: '/operator/held', who: 'operator' },
  { name: 'operator-catalog', route: '/operator/catalog', who: 'operator' },
  { name: 'operator-health', route: '/operator/health', who: 'operator' },
  { name: 'operator-margin', route: '/operator/margin', who: 'operator', until: CHART },
  { name: 'operator-requests', route: '/operator/requests', who: 'operator' },
  { name: 'operator-refusals', route: '/operator/refusals', who: 'operator' },
  { name: 'operator-videos', route: '/operator/videos', who: 'operator' },
  { name: 'operator-settings', route: '/operator/settings', who: 'operator' },
  { name: 'operator-notices', route: '/operator/notices', who: 'operator' },
  { name: 'operator-tokens', route: '/operator/tokens', who: 'operator' },
  { name: 'operator-ip-blocks', route: '/operator/ip-blocks', who: 'operator' },
  { name: 'operator-audit', route: '/operator/audit', who: 'operator' },
  { name: 'operator-bills', route: '/operator/bills', who: 'operator' },
  { name: 'operator-events', route: '/operator/events', who: 'operator' },
]
