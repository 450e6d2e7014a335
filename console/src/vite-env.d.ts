declare module 'virtual:theme.css'

declare module 'virtual:texts/*' {
  import type en from './locales/en.json'
  import type { TableTexts } from './locales/table-texts.ts'

  // Of the sections of the pages a file has all, the other none.
  const texts: Partial<typeof en & TableTexts>
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
