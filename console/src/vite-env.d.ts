declare module 'virtual:theme.css'

declare module 'virtual:texts/*' {
  /** Texts by section: one file has those of the first pages, the other the rest. */
  const texts: Readonly<Record<string, unknown>>
  export default texts
}

declare module 'virtual:log-facts' {
  import type { LogFact } from './locales/table-texts.ts'

  export const facts: readonly LogFact[]
}

declare module 'virtual:admin-scopes' {
  import type { AdminScope } from '../../src/tables/scopes.ts'

  /** The scope of each route of the operator's API. */
  export const scopes: Readonly<Partial<Record<string, AdminScope>>>
}

declare module '*.svg?url' {
  const url: string
  export default url
}

declare module 'virtual:adapters' {
  /** Each adapter, by its name, and its facts. */
  export const adapters: readonly (readonly [string, { readonly baseUrl: string | null }])[]

  /** A provider whose models and prices come with Tollgate. */
  export interface KnownService {
    readonly slug: string
    readonly name: string
    readonly adapter: string
    readonly baseUrl: string
    readonly cancelStopsBilling: boolean
  }
  export const knownProviders: readonly KnownService[]

  /** The fields of each way to get tokens for a provider. */
  export const authFields: Readonly<Record<string, Readonly<Record<string, { readonly is: string }>>>>
}

declare module '@tabler/icons-react/dist/esm/icons/*.mjs' {
  import type { Icon } from '@tabler/icons-react'

  const icon: Icon
  export default icon
}
