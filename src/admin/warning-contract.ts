/** What the operator should know without having looked for it; it goes by itself when it is mended. */
export type OperatorWarning =
  | { readonly kind: 'rates_failed'; readonly since: string; readonly reason: string }
  | {
      readonly kind: 'rates_refused'
      readonly since: string
      readonly rates: readonly { readonly currency: string; readonly rate: string; readonly held: string }[]
    }
