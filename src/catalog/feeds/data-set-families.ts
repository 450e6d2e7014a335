/** Facts about models that no data set has, by family. */
export interface Family {
  readonly inputModalities: readonly string[]
  /** The provider's upper limit for a request. */
  readonly maxCompletionTokens: number
}

/**
 * The price data set has neither the input modalities of a model nor its longest answer. These are the only facts of
 * the bundled catalogue about a model that do not come from a package: stated by hand for whole families, and rather
 * too low than too high, since a provider refuses a larger limit. An entry of the operator overrides them. The first
 * matching row counts.
 */
const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/^anthropic\/claude-(2|3-|v)/, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^anthropic\/claude-3\.5-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/^anthropic\/claude-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 32_000 }],
  [/^google\/gemini-(1|2\.0|pro|flash)/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/^google\/gemini-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 65_535 }],
  [/^openai\/gpt-(5|6)/, { inputModalities: ['text', 'image'], maxCompletionTokens: 128_000 }],
  [/^openai\/(gpt-4\.1|o[134])/, { inputModalities: ['text', 'image'], maxCompletionTokens: 32_768 }],
  [/^openai\/gpt-4o/, { inputModalities: ['text', 'image'], maxCompletionTokens: 16_384 }],
  [/^openai\/gpt-oss/, { inputModalities: ['text'], maxCompletionTokens: 32_768 }],
  [/^openai\//, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^x-ai\/grok-(3|code)/, { inputModalities: ['text'], maxCompletionTokens: 16_384 }],
  [/^x-ai\/grok-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 32_768 }],
  [
    /^mistralai\/(pixtral|mistral-(small|medium)-(2[5-9]|3|latest)|mistral-large-2512|ministral-\w+-2512)/,
    { inputModalities: ['text', 'image'], maxCompletionTokens: 16_384 },
  ],
  [/^meta-llama\/llama-4/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/[-/](vl|vision)\b|-vl-|\d[vV]$/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/^cohere\//, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^perplexity\//, { inputModalities: ['text'], maxCompletionTokens: 8_192 }],
]
const OTHERS: Family = { inputModalities: ['text'], maxCompletionTokens: 8_192 }

/** `id` in OpenRouter's form. */
export function familyOf(id: string): Family {
  return FAMILIES.find(([pattern]) => pattern.test(id))?.[1] ?? OTHERS
}
