import type { QuirksEntry } from './quirks.ts'

/**
 * A difference from OpenAI that a service documents, or shows by its refusals. A key of the catalogue's own row takes
 * precedence.
 */
interface KnownQuirk {
  /** A host, including all names below it; absent = every host. */
  readonly host?: string
  /** Absent = every adapter. */
  readonly adapter?: string
  /** The beginning of the model's own name, without any collection before it; absent = every model. */
  readonly family?: string
  readonly quirks: QuirksEntry
  readonly source: string
  /** The day on which the source said so. */
  readonly date: string
}

const KIMI = 'https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model'
const KIMI_BLANK = 'https://github.com/theopenco/llmgateway/pull/2093'
const KIMI_FIXED = 'https://platform.kimi.com/docs/api/models-overview'
const KIMI_SCHEMA = 'https://github.com/openclaw/openclaw/pull/39702'
const DASHSCOPE = 'https://help.aliyun.com/zh/model-studio/deep-thinking'
const JSON_MODE = 'https://platform.openai.com/docs/guides/structured-outputs#json-mode'
const CLAUDE = 'https://platform.claude.com/docs/en/build-with-claude/extended-thinking'
const DEEPSEEK = 'https://api-docs.deepseek.com/guides/thinking_mode'
const DATE = '2026-11-27'

const ECHO: QuirksEntry = { reasoning_echo: 'reasoning_content' }
const MOONSHOT: QuirksEntry = { reasoning_echo: 'reasoning_content', reasoning_blank: ' ' }
/** These values depend on the mode: the temperature is 1 with thinking and 0.6 without. */
const KIMI_SET: QuirksEntry = {
  fixed: { temperature: null, top_p: null, presence_penalty: null, frequency_penalty: null },
}
const MOONSHOT_SCHEMAS: QuirksEntry = {
  schema_words: {
    $comment: 'drop',
    pattern: 'describe',
    minLength: 'describe',
    maxLength: 'describe',
    minimum: 'describe',
    maximum: 'describe',
    exclusiveMinimum: 'describe',
    exclusiveMaximum: 'describe',
    multipleOf: 'describe',
  },
}
const QWEN: QuirksEntry = { reasoning: 'enable_thinking' }

/** A later row takes precedence over an earlier one. */
export const KNOWN_QUIRKS: readonly KnownQuirk[] = [
  { family: 'deepseek-v4', quirks: ECHO, source: DEEPSEEK, date: DATE },
  { family: 'deepseek-flash', quirks: ECHO, source: DEEPSEEK, date: DATE },
  { family: 'deepseek-reasoner', quirks: ECHO, source: DEEPSEEK, date: DATE },
  { family: 'kimi-k', quirks: MOONSHOT, source: KIMI, date: DATE },
  {
    host: 'api.groq.com',
    quirks: { reasoning_echo: 'reasoning' },
    source: 'https://console.groq.com/docs/reasoning',
    date: DATE,
  },
  { host: 'api.deepseek.com', quirks: ECHO, source: DEEPSEEK, date: DATE },
  {
    host: 'api.deepseek.com',
    quirks: { json_word: true },
    source: 'https://api-docs.deepseek.com/guides/json_mode',
    date: DATE,
  },
  {
    host: 'api.deepseek.com',
    quirks: { schema_words: { $comment: 'drop', pattern: 'describe' } },
    source: 'https://api-docs.deepseek.com/guides/tool_calls',
    date: DATE,
  },
  // Services other than Anthropic that speak its protocol want thoughts back as they gave them.
  {
    adapter: 'anthropic',
    quirks: { reasoning_echo: 'reasoning_content' },
    source: 'https://api-docs.deepseek.com/guides/anthropic_api',
    date: DATE,
  },
  { adapter: 'anthropic', host: 'api.anthropic.com', quirks: { reasoning_echo: 'none' }, source: CLAUDE, date: DATE },
  { adapter: 'anthropic', family: 'claude', quirks: { reasoning_echo: 'none' }, source: CLAUDE, date: DATE },
  { host: 'api.moonshot.ai', quirks: MOONSHOT, source: KIMI, date: DATE },
  { host: 'api.moonshot.cn', quirks: MOONSHOT, source: KIMI_BLANK, date: DATE },
  { host: 'api.kimi.com', quirks: MOONSHOT, source: KIMI_BLANK, date: DATE },
  { host: 'api.moonshot.ai', quirks: MOONSHOT_SCHEMAS, source: KIMI_SCHEMA, date: DATE },
  { host: 'api.moonshot.cn', quirks: MOONSHOT_SCHEMAS, source: KIMI_SCHEMA, date: DATE },
  { host: 'api.kimi.com', quirks: MOONSHOT_SCHEMAS, source: KIMI_SCHEMA, date: DATE },
  { host: 'api.moonshot.ai', family: 'kimi-k', quirks: KIMI_SET, source: KIMI_FIXED, date: DATE },
  { host: 'api.moonshot.cn', family: 'kimi-k', quirks: KIMI_SET, source: KIMI_FIXED, date: DATE },
  {
    host: 'api.z.ai',
    quirks: { reasoning_echo: 'reasoning_content' },
    source: 'https://docs.z.ai/guides/capabilities/thinking-mode',
    date: DATE,
  },
  {
    host: 'open.bigmodel.cn',
    quirks: { reasoning_echo: 'reasoning_content' },
    source: 'https://docs.bigmodel.cn/cn/guide/capabilities/thinking-mode',
    date: DATE,
  },
  {
    host: 'openrouter.ai',
    quirks: { reasoning_echo: 'reasoning' },
    source: 'https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning',
    date: DATE,
  },
  {
    host: 'api.cerebras.ai',
    quirks: { strict: 'all_or_none', reasoning_echo: 'reasoning' },
    source: 'https://github.com/Kilo-Org/kilocode/pull/5204',
    date: DATE,
  },
  { host: 'dashscope.aliyuncs.com', quirks: QWEN, source: DASHSCOPE, date: DATE },
  { host: 'dashscope-intl.aliyuncs.com', quirks: QWEN, source: DASHSCOPE, date: DATE },
  { host: 'dashscope-us.aliyuncs.com', quirks: QWEN, source: DASHSCOPE, date: DATE },
  {
    host: 'api-inference.modelscope.cn',
    quirks: QWEN,
    source: 'https://github.com/musistudio/claude-code-router/issues/948',
    date: DATE,
  },
  {
    host: 'api.siliconflow.cn',
    quirks: QWEN,
    source: 'https://docs.siliconflow.cn/cn/api-reference/chat-completions/chat-completions',
    date: DATE,
  },
  {
    host: 'api.siliconflow.com',
    quirks: QWEN,
    source: 'https://docs.siliconflow.com/en/api-reference/chat-completions/chat-completions',
    date: DATE,
  },
  { host: 'dashscope.aliyuncs.com', family: 'qwq', quirks: { stream: 'always' }, source: DASHSCOPE, date: DATE },
  { host: 'dashscope-intl.aliyuncs.com', family: 'qwq', quirks: { stream: 'always' }, source: DASHSCOPE, date: DATE },
  { host: 'dashscope.aliyuncs.com', family: 'qvq', quirks: { stream: 'always' }, source: DASHSCOPE, date: DATE },
  { host: 'dashscope-intl.aliyuncs.com', family: 'qvq', quirks: { stream: 'always' }, source: DASHSCOPE, date: DATE },
  { host: 'dashscope.aliyuncs.com', quirks: { json_word: true }, source: DASHSCOPE, date: DATE },
  { host: 'dashscope-intl.aliyuncs.com', quirks: { json_word: true }, source: DASHSCOPE, date: DATE },
  { host: 'api.openai.com', quirks: { json_word: true }, source: JSON_MODE, date: DATE },
  { host: 'openai.azure.com', quirks: { json_word: true }, source: JSON_MODE, date: DATE },
]

/** The known quirks of a provider; with a model also those of its family. */
export function knownQuirks(
  { adapter, baseUrl }: { readonly adapter: string; readonly baseUrl: string },
  model: string | null,
): QuirksEntry {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''
  const name = model?.split('/').at(-1)?.toLowerCase() ?? null
  const isOf = ({ host: known, family, adapter: of = adapter }: KnownQuirk): boolean =>
    of === adapter &&
    (known === undefined || host === known || host.endsWith(`.${known}`)) &&
    (family === undefined || name?.startsWith(family) === true)
  return KNOWN_QUIRKS.filter(isOf).reduce<QuirksEntry>((known, { quirks }) => ({ ...known, ...quirks }), {})
}
