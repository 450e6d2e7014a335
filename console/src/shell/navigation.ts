import type { Icon } from '@tabler/icons-react'
import {
  AccountsIcon,
  AdministratorsIcon,
  AppsIcon,
  AuditIcon,
  BlocksIcon,
  CodesIcon,
  DifferenceIcon,
  EventsIcon,
  HealthIcon,
  HomeIcon,
  KeyIcon,
  LogIcon,
  MarginIcon,
  ModelsIcon,
  PaymentsIcon,
  PlaygroundIcon,
  PricesIcon,
  ProviderIcon,
  SecurityIcon,
  SettingsIcon,
  StatementIcon,
  UsageIcon,
  WalletIcon,
} from '../parts/icons.ts'
import type en from '../locales/en.json'

export interface Destination {
  readonly to: string
  readonly name: keyof typeof en.nav
  readonly icon: Icon
}

export interface DestinationGroup {
  readonly name: keyof typeof en.nav
  readonly items: readonly Destination[]
}

export const CUSTOMER: readonly DestinationGroup[] = [
  {
    name: 'work',
    items: [
      { to: '/', name: 'home', icon: HomeIcon },
      { to: '/keys', name: 'keys', icon: KeyIcon },
      { to: '/models', name: 'models', icon: ModelsIcon },
      { to: '/playground', name: 'playground', icon: PlaygroundIcon },
    ],
  },
  {
    name: 'observe',
    items: [
      { to: '/usage', name: 'usage', icon: UsageIcon },
      { to: '/log', name: 'log', icon: LogIcon },
      { to: '/apps', name: 'apps', icon: AppsIcon },
    ],
  },
  {
    name: 'billing',
    items: [
      { to: '/top-up', name: 'top_up', icon: WalletIcon },
      { to: '/ledger', name: 'ledger', icon: PaymentsIcon },
      { to: '/statement', name: 'statement', icon: StatementIcon },
    ],
  },
  {
    name: 'account',
    items: [
      { to: '/settings', name: 'settings', icon: SettingsIcon },
      { to: '/security', name: 'security', icon: SecurityIcon },
    ],
  },
]

export const OPERATOR: readonly DestinationGroup[] = [
  {
    name: 'reports',
    items: [
      { to: '/operator', name: 'home', icon: HomeIcon },
      { to: '/operator/margin', name: 'margin', icon: MarginIcon },
      { to: '/operator/requests', name: 'requests', icon: LogIcon },
      { to: '/operator/audit', name: 'audit', icon: AuditIcon },
      { to: '/operator/events', name: 'events', icon: EventsIcon },
    ],
  },
  {
    name: 'customers',
    items: [
      { to: '/operator/accounts', name: 'accounts', icon: AccountsIcon },
      { to: '/operator/users', name: 'users', icon: AdministratorsIcon },
      { to: '/operator/codes', name: 'codes', icon: CodesIcon },
      { to: '/operator/payments', name: 'payments', icon: WalletIcon },
    ],
  },
  {
    name: 'catalogue',
    items: [
      { to: '/operator/providers', name: 'providers', icon: ProviderIcon },
      { to: '/operator/prices', name: 'prices', icon: PricesIcon },
      { to: '/operator/catalog', name: 'catalog_document', icon: DifferenceIcon },
      { to: '/operator/health', name: 'health', icon: HealthIcon },
    ],
  },
  {
    name: 'service',
    items: [
      { to: '/operator/settings', name: 'service_settings', icon: SettingsIcon },
      { to: '/operator/ip-blocks', name: 'ip_blocks', icon: BlocksIcon },
    ],
  },
]
