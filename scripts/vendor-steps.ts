/** Prices per million tokens in USD: `prompt`, `completion`, `input_cache_read`. */
type Prices = readonly [prompt: string, completion: string, cached: string]

/** What a vendor's page says about a model whose price depends on the length of the input or on the hour. */
export interface VendorStep {
  readonly provider: string
  readonly model: string
  /** Input tokens above which the second price holds; null = it holds within `hours` (UTC) of working days. */
  readonly above: number | null
  readonly hours?: readonly (readonly [from: string, to: string])[]
  readonly below: Prices
  readonly beyond: Prices
  readonly page: string
  /** The day of the list that cites the page; the page itself was not available when the row was written. */
  readonly seen: string
}

const OPENAI = 'https://developers.openai.com/api/docs/pricing'
const GOOGLE = 'https://ai.google.dev/gemini-api/docs/pricing'
const XAI = 'https://docs.x.ai/docs/models'
const ANTHROPIC = 'https://platform.claude.com/docs/en/about-claude/pricing'
const DEEPSEEK = 'https://api-docs.deepseek.com/quick_start/pricing'
const QWEN = 'https://www.alibabacloud.com/help/en/model-studio/models'

const row = (
  provider: string,
  model: string,
  above: number,
  below: Prices,
  beyond: Prices,
  page: string,
): VendorStep => ({ provider, model, above, below, beyond, page, seen: '2026-11-20' })

const peak = (model: string, below: Prices, beyond: Prices): VendorStep => ({
  provider: 'deepseek',
  model,
  above: null,
  hours: [
    ['06:00', '10:00'],
    ['01:00', '04:00'],
  ],
  below,
  beyond,
  page: DEEPSEEK,
  seen: '2026-11-20',
})

/**
 * The steps of vendors, kept apart from the data set that the bundle is made from: a test compares each bundled row
 * with them, in both directions. The figures come from another list (LiteLLM's), with the page that it cites.
 */
export const VENDOR_STEPS: readonly VendorStep[] = [
  row('anthropic', 'claude-haiku-5-5', 100_000, ['0.1', '0.5', '0.01'], ['0.5', '2.5', '0.05'], ANTHROPIC),
  row('google', 'gemini-2.5-pro', 200_000, ['1.25', '10', '0.125'], ['2.5', '15', '0.25'], GOOGLE),
  row('google', 'gemini-3.1-pro-preview', 200_000, ['2', '12', '0.2'], ['4', '18', '0.4'], GOOGLE),
  row('openai', 'gpt-5.4', 272_000, ['2.5', '15', '0.25'], ['5', '22.5', '0.5'], OPENAI),
  row('openai', 'gpt-5.5', 272_000, ['5', '30', '0.5'], ['10', '45', '1'], OPENAI),
  row('openai', 'gpt-5.6-luna', 272_000, ['0.2', '1.2', '0.02'], ['0.4', '1.8', '0.04'], OPENAI),
  row('openai', 'gpt-5.6-sol', 272_000, ['4', '20', '0.4'], ['8', '30', '0.8'], OPENAI),
  row('openai', 'gpt-5.6-terra', 272_000, ['2', '12', '0.2'], ['4', '18', '0.4'], OPENAI),
  row('openai', 'gpt-6-astra', 272_000, ['10', '50', '1'], ['20', '75', '2'], OPENAI),
  row('openai', 'gpt-6-luna', 272_000, ['0.1', '0.5', '0.01'], ['0.2', '0.75', '0.02'], OPENAI),
  row('openai', 'gpt-6-rosalind', 272_000, ['15', '75', '1.5'], ['30', '112.5', '3'], OPENAI),
  row('openai', 'gpt-6-sol', 272_000, ['2', '10', '0.2'], ['4', '15', '0.4'], OPENAI),
  row('openai', 'gpt-6.1-sol', 272_000, ['2', '10', '0.1'], ['4', '15', '0.2'], OPENAI),
  row('openai', 'gpt-6.1-terra', 272_000, ['1', '5', '0.05'], ['2', '7.5', '0.1'], OPENAI),
  row('x-ai', 'grok-4.20', 200_000, ['1.25', '2.5', '0.2'], ['2.5', '5', '0.4'], XAI),
  row('x-ai', 'grok-4.20-multi-agent-0309', 200_000, ['1.25', '2.5', '0.2'], ['2.5', '5', '0.4'], XAI),
  row('x-ai', 'grok-4.3', 200_000, ['1.25', '2.5', '0.2'], ['2.5', '5', '0.4'], XAI),
  row('x-ai', 'grok-4.5', 200_000, ['2', '6', '0.3'], ['4', '12', '0.6'], XAI),
  row('x-ai', 'grok-4.6', 200_000, ['2', '6', '0.5'], ['4', '12', '1'], XAI),
  row('x-ai', 'grok-4.7', 200_000, ['2', '6', '0.5'], ['4', '12', '1'], XAI),
  row('x-ai', 'grok-build-0.1', 200_000, ['1', '2', '0.2'], ['2', '4', '0.4'], XAI),
  peak('deepseek-flash', ['0.15', '0.6', '0.003'], ['0.3', '1.2', '0.006']),
  peak('deepseek-v4-flash', ['0.15', '0.6', '0.003'], ['0.3', '1.2', '0.006']),
  peak('deepseek-v4-pro', ['0.66', '1.98', '0.022'], ['1.32', '3.96', '0.044']),
]

/** Models without a step, of vendors whose other models have steps: a bundled step would be a bug of the generator. */
export const FLAT: readonly string[] = [
  'anthropic/claude-opus-4-6',
  'anthropic/claude-opus-4-7',
  'anthropic/claude-opus-4-8',
  'anthropic/claude-opus-5',
  'anthropic/claude-opus-5-5',
  'anthropic/claude-sonnet-4-5',
  'anthropic/claude-sonnet-4-6',
  'anthropic/claude-sonnet-5',
  'anthropic/claude-sonnet-5-5',
  'google/gemini-2.5-flash',
  'google/gemini-3.8-flash',
  'openai/gpt-4.1',
  'openai/gpt-4o',
  'openai/gpt-5.4-mini',
]

/** The first step of the vendor, or of OpenRouter, for models that the bundle has only from other hosts. */
export const HOSTED_STEPS: readonly { readonly id: string; readonly above: number; readonly page: string }[] = [
  ...['qwen/qwen3-max', 'qwen/qwen3-coder-plus', 'qwen/qwen3-coder-flash'].map((id) => ({
    id,
    above: 32_000,
    page: QWEN,
  })),
  ...['qwen/qwen-plus', 'qwen/qwen-plus-2025-07-28', 'qwen/qwen3.7-plus'].map((id) => ({
    id,
    above: 256_000,
    page: QWEN,
  })),
  ...['bytedance-seed/seed-1.6', 'bytedance-seed/seed-2.0-lite', 'bytedance-seed/seed-2.0-mini'].map((id) => ({
    id,
    above: 128_000,
    page: 'https://openrouter.ai/models',
  })),
  { id: 'minimax/minimax-m3', above: 512_000, page: 'https://platform.minimax.io/docs/pricing' },
]
