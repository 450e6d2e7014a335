import type { Icon } from '@tabler/icons-react'
import * as icons from '../parts/icons.ts'
import type { AdminScope, MemberScope } from '../../../src/tables/scopes.ts'
import type en from '../locales/en.json'

interface Destination {
  readonly to: string
  readonly name: keyof typeof en.nav
  readonly icon: Icon
  /** For operator pages: without this scope the page is not shown. */
  readonly scope?: AdminScope
  /** For customer pages: the same, with the scope in the account. */
  readonly needs?: MemberScope
  /** Its other pages, which its tabs lead to. */
  readonly tabs?: readonly string[]
}

interface DestinationGroup {
  readonly name: keyof typeof en.nav
  readonly items: readonly Destination[]
}

export const CUSTOMER: readonly DestinationGroup[] = [
  {
    name: 'work',
    items: [
      { to: '/', name: 'home', icon: icons.HomeIcon },
      { to: '/keys', name: 'keys', icon: icons.KeyIcon, needs: 'keys:read' },
      { to: '/models', name: 'models', icon: icons.ModelsIcon },
      { to: '/playground', name: 'playground', icon: icons.PlaygroundIcon, needs: 'playground' },
    ],
  },
  {
    name: 'observe',
    items: [
      { to: '/usage', name: 'usage', icon: icons.UsageIcon },
      { to: '/log', name: 'log', icon: icons.LogIcon },
      { to: '/apps', name: 'apps', icon: icons.AppsIcon },
    ],
  },
  {
    name: 'billing',
    items: [
      { to: '/top-up', name: 'top_up', icon: icons.WalletIcon, needs: 'money:write' },
      { to: '/ledger', name: 'ledger', icon: icons.PaymentsIcon, needs: 'money:read' },
      { to: '/statement', name: 'statement', icon: icons.StatementIcon, needs: 'money:read' },
    ],
  },
  {
    name: 'account',
    items: [
      { to: '/people', name: 'people', icon: icons.AccountsIcon, needs: 'members:read' },
      { to: '/notices', name: 'notices', icon: icons.NoticesIcon, needs: 'money:read' },
      { to: '/settings', name: 'settings', icon: icons.SettingsIcon },
      { to: '/security', name: 'security', icon: icons.SecurityIcon },
    ],
  },
]

/** The last group is closed until it is needed: nobody reads twenty entries. */
export const OPERATOR: readonly DestinationGroup[] = [
  {
    name: 'reports',
    items: [
      { to: '/operator', name: 'home', icon: icons.HomeIcon, scope: 'usage:read' },
      {
        to: '/operator/requests',
        name: 'requests',
        icon: icons.LogIcon,
        scope: 'log:read',
        tabs: ['/operator/refusals', '/operator/videos'],
      },
      { to: '/operator/margin', name: 'margin', icon: icons.MarginIcon, scope: 'usage:read' },
    ],
  },
  {
    name: 'customers',
    items: [{ to: '/operator/accounts', name: 'accounts', icon: icons.AccountsIcon, scope: 'accounts:read' }],
  },
  {
    name: 'catalogue',
    items: [
      { to: '/operator/providers', name: 'providers', icon: icons.ProviderIcon, scope: 'catalog:read' },
      { to: '/operator/prices', name: 'prices', icon: icons.PricesIcon, scope: 'catalog:read' },
      { to: '/operator/held', name: 'held', icon: icons.HeldIcon, scope: 'catalog:read' },
      { to: '/operator/health', name: 'health', icon: icons.HealthIcon, scope: 'health:read' },
    ],
  },
  {
    name: 'service',
    items: [{ to: '/operator/settings', name: 'service_settings', icon: icons.SettingsIcon, scope: 'settings:read' }],
  },
  {
    name: 'more',
    items: [
      { to: '/operator/payments', name: 'payments', icon: icons.WalletIcon, scope: 'money:read' },
      { to: '/operator/codes', name: 'codes', icon: icons.CodesIcon, scope: 'money:read' },
      { to: '/operator/customer-prices', name: 'customer_prices', icon: icons.PricesIcon, scope: 'accounts:read' },
      { to: '/operator/users', name: 'users', icon: icons.AdministratorsIcon, scope: 'people:read' },
      { to: '/operator/notices', name: 'notices', icon: icons.NoticesIcon, scope: 'settings:read' },
      { to: '/operator/bills', name: 'bills', icon: icons.StatementIcon, scope: 'audit:read' },
      { to: '/operator/events', name: 'events', icon: icons.EventsIcon, scope: 'audit:read' },
      { to: '/operator/audit', name: 'audit', icon: icons.AuditIcon, scope: 'audit:read' },
      { to: '/operator/catalog', name: 'catalog_document', icon: icons.DifferenceIcon, scope: 'catalog:read' },
      { to: '/operator/tokens', name: 'tokens', icon: icons.KeyIcon, scope: 'tokens:read' },
      { to: '/operator/ip-blocks', name: 'ip_blocks', icon: icons.BlocksIcon, scope: 'security:read' },
    ],
  },
]

/** What people come to do, for the search: the page on which it is done. */
export const ACTIONS: readonly (Omit<Destination, 'name'> & {
  readonly name: keyof typeof en.find.do
  readonly search?: Readonly<Record<string, string>>
})[] = [
  { to: '/keys', search: { create: '1' }, name: 'create_key', icon: icons.KeyIcon, needs: 'keys:write' },
  { to: '/top-up', name: 'top_up', icon: icons.WalletIcon, needs: 'money:write' },
  { to: '/people', name: 'invite', icon: icons.AccountsIcon, needs: 'members:write' },
  { to: '/security', name: 'password', icon: icons.SecurityIcon },
  { to: '/log/refused', name: 'refused', icon: icons.BlocksIcon },
  { to: '/operator/accounts', name: 'account', icon: icons.AccountsIcon, scope: 'accounts:write' },
  { to: '/operator/providers/connect', name: 'connect', icon: icons.ProviderIcon, scope: 'catalog:write' },
  { to: '/operator/codes', name: 'codes', icon: icons.CodesIcon, scope: 'money:write' },
  { to: '/operator/users', name: 'operator', icon: icons.AdministratorsIcon, scope: 'people:write' },
  { to: '/operator/refusals', name: 'refusals', icon: icons.BlocksIcon, scope: 'log:read' },
]

/** The scopes of a user as an operator, and in the account of their session. */
interface Rights {
  readonly scopes: readonly AdminScope[]
  readonly account_scopes: readonly MemberScope[]
}

export function isAllowed(
  { scopes, account_scopes: own }: Rights,
  { scope, needs }: Pick<Destination, 'scope' | 'needs'>,
): boolean {
  return (scope === undefined || scopes.includes(scope)) && (needs === undefined || own.includes(needs))
}

/** The pages that these rights allow. */
export function openedBy(rights: Rights, groups: readonly DestinationGroup[]): readonly DestinationGroup[] {
  return groups
    .map(({ name, items }) => ({ name, items: items.filter((item) => isAllowed(rights, item)) }))
    .filter(({ items }) => items.length > 0)
}

/** Whether these scopes allow the operator page at an address. */
export function isOpened(scopes: readonly AdminScope[], pathname: string): boolean {
  const pages = OPERATOR.flatMap(({ items }) => items)
  const page = pages.filter(({ to }) => pathname === to || (to !== '/operator' && pathname.startsWith(`${to}/`))).at(-1)
  return page?.scope === undefined || scopes.includes(page.scope)
}
