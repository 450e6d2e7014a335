/** What a model probably takes and gives, by family. */
export interface Family {
  readonly inputModalities: readonly string[]
  /**
   * The longest answer, tokens; null = what another host states, else a quarter of the context window, within 8,192 and
   * 32,768.
   */
  readonly maxCompletionTokens: number | null
}

/**
 * For models of which the data set does not say it: a guess for whole families, rather too low than too high, since a
 * provider refuses a larger limit. A row with a guessed limit says so in `guessed`. The first matching row counts.
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
  [/^openai\/(gpt-3|chatgpt)/, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^x-ai\/grok-(3|code)/, { inputModalities: ['text'], maxCompletionTokens: 16_384 }],
  // "No text output limit": https://docs.x.ai/developers/grok-4-6 (seen on 27 November 2026). A hold has a limit.
  [/^x-ai\/grok-4\.([2-9]|1\d)/, { inputModalities: ['text', 'image'], maxCompletionTokens: 128_000 }],
  [/^x-ai\/grok-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 32_768 }],
  [
    /^mistralai\/(pixtral|mistral-(small|medium)-(2[5-9]|3|latest)|mistral-large-2512|ministral-\w+-2512)/,
    { inputModalities: ['text', 'image'], maxCompletionTokens: 16_384 },
  ],
  [/^meta-llama\/llama-4/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/[-/](vl|vision)\b|-vl-|\d[vV]$/, { inputModalities: ['text', 'image'], maxCompletionTokens: null }],
  [/^cohere\//, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^perplexity\//, { inputModalities: ['text'], maxCompletionTokens: 8_192 }],
]
const OTHERS: Family = { inputModalities: ['text'], maxCompletionTokens: null }
const LEAST = 8_192
const MOST = 32_768

/** `id` in OpenRouter's form. */
export function familyOf(id: string): Family {
  return FAMILIES.find(([pattern]) => pattern.test(id))?.[1] ?? OTHERS
}

/** The longest answer of a model of this family and window, in tokens. `elsewhere`: the one that another host states. */
export function guessedOutput({ maxCompletionTokens }: Family, context: number, elsewhere: number | null): number {
  const guess = maxCompletionTokens ?? elsewhere ?? Math.max(LEAST, Math.min(MOST, Math.floor(context / 4)))
  return Math.min(guess, context)
}
