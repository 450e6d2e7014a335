/** The fields that decide who serves a request of any kind. */
export interface RoutedRequest {
  /** As sent, suffix included; null = the account's default model. */
  readonly model: string | null
  /** `models[]`, tried in order after `model`; ≤ 5. */
  readonly fallbackModels: readonly string[]
  readonly provider: ProviderPreferences
  /** Answers to each input; ≥ 1. */
  readonly n: number
  readonly sessionId: string | null
}

/** `provider` of a request (wire.md 8); slugs lower-cased. */
export interface ProviderPreferences {
  readonly order: readonly string[]
  readonly ignore: readonly string[]
  /** null = not given. */
  readonly only: readonly string[] | null
  readonly sort: 'price' | 'throughput' | 'latency' | null
  readonly allowFallbacks: boolean
  readonly requireParameters: boolean
  /** RUB per 1M tokens (prompt, completion) or per unit (request, image), as decimal text. */
  readonly maxPrice: Readonly<Partial<Record<'prompt' | 'completion' | 'request' | 'image', string>>>
}
