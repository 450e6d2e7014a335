import { join } from 'node:path'
import type { Answered } from './model-protocols.ts'
import { isChosen, type ClientHome, type Packages, type Ran, type Target } from './client-run.ts'

/** The file that the model writes into the client's folder, by a tool of that client. */
export const EDITED = { file: 'note.txt', text: 'written by a tool' } as const

/** A real client: how a user sets it up and asks it. */
export interface Client {
  readonly name: string
  /** Where it is installed; absent = `npm`. */
  readonly packages?: Packages
  /** Models of the scripted provider for its conversations: of its own protocol, and of another. */
  readonly models: readonly string[]
  /** Writes its settings, as `docs/clients` says. */
  setUp(home: ClientHome, target: Target): void
  /** One turn, with more options; `turn` 0 begins a conversation. */
  ask(home: ClientHome, target: Target, text: string, turn: number, more?: readonly string[]): Promise<Ran>
  /** The tokens of `REPORTED` in its output, and the option that shows them; a sentence where it shows none. */
  readonly usage: { readonly option?: string; readonly shows: RegExp } | string
  /** Its turns are messages of WebSockets. */
  readonly overSocket?: true
  /** Its messages to its user about an unknown model, and about a prompt that no context holds. */
  readonly tells: { readonly unknown: RegExp; readonly tooLong: RegExp }
  /** The call of its tool that writes `EDITED`, chosen from the tools that it offers. */
  edit(tools: readonly string[], work: string): Answered
  /** It reads an edit out of the text of an answer. */
  readonly editsInText?: true
  /** How it shortens a conversation that is too long; a sentence where it does not. */
  readonly compacts: Compaction | string
}

/**
 * When the gateway refuses its conversation as too long, or by its own count, it asks the model for a summary and goes
 * on with that.
 */
export interface Compaction {
  /** A model with a context that a few long turns fill. */
  readonly model: string
  /** Its request for a summary. */
  readonly asks: RegExp
  /** The turn in which it does this has no answer of its own; the next one begins with the summary. */
  readonly atNextTurn?: true
  /** It counts by itself, and nothing is refused. */
  readonly bySize?: true
  /** Requests for one summary; absent = 1. */
  readonly summaries?: number
  /** It compacts beside its work: its next start may do so once more. */
  readonly inBackground?: true
}

const qwen: Client = {
  name: 'Qwen Code',
  // The summary that it asks for needs room beside the conversation, as the refused answer did.
  compacts: { model: 'acme/wide-chat', asks: /<state_snapshot>/, atNextTurn: true },
  usage: {
    option: '--output-format=json',
    shows: /"input_tokens":1000,"output_tokens":50,"cache_read_input_tokens":200/,
  },
  tells: { unknown: /'acme\/none' not found/, tooLong: /too long|context/i },
  models: ['acme/chat', 'acme/messages'],
  setUp: () => undefined,
  ask: (home, { url, key, model }, text, turn, more = []) =>
    home.run('qwen', ['--yolo', ...more, ...(turn > 0 ? ['--continue'] : []), '-p', text], {
      OPENAI_API_KEY: key,
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_MODEL: model,
      QWEN_TELEMETRY_ENABLED: 'false',
    }),
  edit: (_tools, work) => ({
    tool: 'write_file',
    arguments: { file_path: join(work, EDITED.file), content: EDITED.text },
  }),
}

const opencode: Client = {
  name: 'OpenCode',
  usage: { option: '--format=json', shows: /"total":1050,"input":800,"output":50/ },
  compacts: { model: 'acme/short-chat', asks: /^Here is the conversation so far/ },
  tells: { unknown: /'acme\/none' not found/, tooLong: /too long|context/i },
  models: ['acme/chat', 'acme/gemini'],
  setUp: (home, { url, key, model }) => {
    home.file(
      'work/opencode.json',
      JSON.stringify({
        $schema: 'https://opencode.ai/config.json',
        share: 'disabled',
        autoupdate: false,
        provider: {
          tollgate: {
            npm: '@ai-sdk/openai-compatible',
            name: 'Tollgate',
            options: { baseURL: `${url}/v1`, apiKey: key },
            models: { [model]: { name: model, limit: { context: 200_000, output: 8_000 } } },
          },
        },
      }),
    )
  },
  ask: (home, { model }, text, turn, more = []) =>
    home.run('opencode', ['run', '-m', `tollgate/${model}`, ...more, ...(turn > 0 ? ['--continue'] : []), text], {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_PERMISSION: '{"edit":"allow","bash":"allow"}',
    }),
  edit: (_tools, work) => ({ tool: 'write', arguments: { filePath: join(work, EDITED.file), content: EDITED.text } }),
}

const llm: Client = {
  name: 'llm',
  packages: 'python',
  compacts: 'each further turn ends with the error',
  usage: { option: '--usage', shows: /1,000 input, 50 output/ },
  tells: { unknown: /'acme\/none' not found/, tooLong: /too long|context/i },
  models: ['acme/chat', 'acme/messages'],
  setUp: (home, { url, model }) => {
    home.file(
      'llm/extra-openai-models.yaml',
      `- model_id: tollgate\n  model_name: ${model}\n  api_base: ${url}/v1\n  api_key_name: tollgate\n  supports_tools: true\n`,
    )
  },
  ask: (home, { key }, text, turn, more = []) =>
    home.run(
      'llm',
      ['-m', 'tollgate', '--key', key, '--functions', WRITE_FILE, ...more, ...(turn > 0 ? ['-c'] : []), text],
      {
        LLM_USER_PATH: join(home.home, 'llm'),
      },
    ),
  edit: (_tools, work) => ({ tool: 'write_file', arguments: { path: join(work, EDITED.file), content: EDITED.text } }),
}
const WRITE_FILE = `def write_file(path: str, content: str) -> str:
    "Writes a file."
    open(path, "w").write(content)
    return "written"
`

/** Its turns are requests, or messages of a WebSocket. */
const codexOver = (name: string, sockets: boolean): Client => ({
  name,
  // Without those of the cache.
  usage: { shows: /tokens used\s+850\b/ },
  compacts: { model: 'acme/short-responses', asks: /CONTEXT CHECKPOINT COMPACTION/, atNextTurn: true },
  tells: { unknown: /'acme\/none' not found/, tooLong: /too long|context/i },
  models: ['acme/responses', 'acme/chat', 'acme/messages'],
  setUp: (home, { url, model }) => {
    home.file(
      '.codex/config.toml',
      `model = "${model}"
model_provider = "tollgate"
[model_providers.tollgate]
name = "Tollgate"
base_url = "${url}/v1"
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"
supports_websockets = ${sockets}
[analytics]
enabled = false
`,
    )
  },
  ask: (home, { key }, text, turn) =>
    home.run(
      'codex',
      [
        'exec',
        ...(turn > 0 ? ['resume', '--last'] : []),
        '--skip-git-repo-check',
        '--dangerously-bypass-approvals-and-sandbox',
        text,
      ],
      { TOLLGATE_API_KEY: key },
    ),
  edit: (tools, work) => {
    const file = join(work, EDITED.file)
    return tools.includes('exec_command')
      ? { tool: 'exec_command', arguments: { cmd: `printf '%s' '${EDITED.text}' > ${file}` } }
      : { tool: 'shell', arguments: { command: ['bash', '-lc', `printf '%s' '${EDITED.text}' > ${file}`] } }
  },
})

const codex = codexOver('Codex', false)
const codexSocket: Client = {
  ...codexOver('Codex over a WebSocket', true),
  overSocket: true,
}

const claude: Client = {
  name: 'Claude Code',
  usage: {
    option: '--output-format=json',
    shows: /"input_tokens":800,.*"cache_read_input_tokens":200,"output_tokens":50/,
  },
  compacts: { model: 'acme/short-messages', asks: /^CRITICAL: Respond with TEXT ONLY/ },
  tells: { unknown: /issue with the selected model \(acme\/none\)/, tooLong: /prompt is too long/i },
  models: ['acme/messages', 'acme/chat', 'acme/gemini'],
  setUp: () => undefined,
  ask: (home, { url, key, model }, text, turn, more = []) =>
    home.run(
      'claude',
      [
        '-p',
        ...more,
        '--model',
        model,
        '--permission-mode',
        'acceptEdits',
        '--allowedTools',
        'Write',
        ...(turn > 0 ? ['--continue'] : []),
        '--',
        text,
      ],
      {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: key,
        DISABLE_TELEMETRY: '1',
        DISABLE_ERROR_REPORTING: '1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    ),
  edit: (_tools, work) => ({ tool: 'Write', arguments: { file_path: join(work, EDITED.file), content: EDITED.text } }),
}

const geminiCli: Client = {
  name: 'Gemini CLI',
  usage: { option: '--output-format=json', shows: /"input": 800,\s+"prompt": 1000,\s+"candidates": 50/ },
  // It writes a summary, and is then asked what that has left out.
  compacts: { model: 'acme/gemini', asks: /<state_snapshot>/, bySize: true, summaries: 2 },
  tells: { unknown: /'acme\/none' not found/, tooLong: /too long|context/i },
  models: ['acme/gemini', 'acme/chat'],
  setUp: (home, { compacts }) => {
    home.file(
      '.gemini/settings.json',
      JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true },
        // Of the million tokens that it takes for every model's context.
        ...(compacts === true ? { model: { compressionThreshold: 0.02 } } : {}),
      }),
    )
  },
  ask: (home, { url, key, model }, text, turn, more = []) =>
    home.run(
      'gemini',
      ['-m', model, '--yolo', '--skip-trust', ...more, ...(turn > 0 ? ['--resume', 'latest'] : []), '-p', text],
      {
        GEMINI_API_KEY: key,
        GOOGLE_GEMINI_BASE_URL: url,
      },
    ),
  edit: (_tools, work) => ({
    tool: 'write_file',
    arguments: { file_path: join(work, EDITED.file), content: EDITED.text },
  }),
}

const cline: Client = {
  name: 'Cline',
  compacts: 'each turn is a task of its own without a terminal',
  usage: { shows: /"inputTokens":1000,"outputTokens":50,"cacheReadTokens":200/ },
  tells: { unknown: /'acme\/none' not found/, tooLong: /too long|context/i },
  models: ['acme/chat', 'acme/messages'],
  setUp: () => undefined,
  // Without a terminal it cannot go on with a session: each turn is a task of its own.
  ask: async (home, { url, key, model }, text) => {
    await home.run('cline', ['auth', '-p', 'openai', '-k', key, '-b', `${url}/v1`, '-m', model], CLINE)
    return home.run('cline', ['--json', text], CLINE)
  },
  edit: (_tools, work) => ({
    tool: 'editor',
    arguments: { path: join(work, EDITED.file), new_text: EDITED.text },
  }),
}
const CLINE = { CLINE_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' }

const continueCli: Client = {
  name: 'Continue',
  usage: 'it shows none',
  // The message of that turn goes into the summary, and is answered by nothing else.
  compacts: { model: 'acme/chat', asks: /concise summary of our conversation/, bySize: true, atNextTurn: true },
  tells: { unknown: /'acme\/none' not found/, tooLong: /too long|context/i },
  models: ['acme/chat', 'acme/gemini'],
  setUp: (home, { url, key, model, compacts }) => {
    home.file(
      '.continue/config.yaml',
      `name: tollgate
version: 0.0.1
schema: v1
models:
  - name: Tollgate
    provider: openai
    model: ${model}
    apiBase: ${url}/v1
    apiKey: ${key}
    roles: [chat, edit, apply]
    capabilities: [tool_use]
${compacts === true ? '    defaultCompletionOptions: { contextLength: 60000 }\n' : ''}`,
    )
  },
  ask: (home, _target, text, turn) =>
    home.run(
      'cn',
      ['--config', join(home.home, '.continue/config.yaml'), '--auto', '-p', ...(turn > 0 ? ['--resume'] : []), text],
      { CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_ALLOW_ANONYMOUS_TELEMETRY: '0' },
    ),
  edit: (_tools, work) => ({
    tool: 'Write',
    arguments: { filepath: join(work, EDITED.file), content: EDITED.text },
  }),
}

const aider: Client = {
  name: 'Aider',
  packages: 'aider',
  usage: { shows: /Tokens: \S+ sent, \S+ received/ },
  // It makes the summary anew at each start.
  compacts: { model: 'acme/chat', asks: /^# USER/, bySize: true, summaries: 2 },
  tells: { unknown: /'acme\/none' not found/, tooLong: /too long|context/i },
  models: ['acme/chat', 'acme/messages'],
  setUp: () => undefined,
  ask: (home, { url, key, model }, text, turn) =>
    home.run(
      'aider',
      [
        '--model',
        `openai/${model}`,
        '--edit-format',
        'whole',
        '--no-git',
        '--yes-always',
        '--analytics-disable',
        '--no-check-update',
        '--no-show-model-warnings',
        ...(turn > 0 ? ['--restore-chat-history'] : []),
        '--message',
        text,
      ],
      { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key, LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    ),
  // It has no tools: a file in the text of an answer is written.
  edit: () => ({ text: `The file is there.\n\n${EDITED.file}\n\`\`\`\n${EDITED.text}\n\`\`\`\n` }),
  editsInText: true,
}

const pi: Client = {
  name: 'Pi',
  usage: { option: '--mode json', shows: /"input":800,"output":50,"cacheRead":200/ },
  compacts: { model: 'acme/short-chat', asks: /summar/i, atNextTurn: true },
  tells: { unknown: /'acme\/none' not found/, tooLong: /too long|context/i },
  models: ['acme/chat', 'acme/messages'],
  setUp: (home, { url, key, model }) => {
    home.file(
      '.pi/agent/models.json',
      JSON.stringify({
        providers: {
          tollgate: { baseUrl: `${url}/v1`, api: 'openai-completions', apiKey: key, models: [{ id: model }] },
        },
      }),
    )
  },
  // Its plain output leaves out the error of a prompt that it cannot shorten.
  ask: (home, { model }, text, turn) =>
    home.run(
      'pi',
      ['--provider', 'tollgate', '--model', model, '--mode', 'json', ...(turn > 0 ? ['--continue'] : []), '-p', text],
      { PI_OFFLINE: '1' },
    ),
  edit: (_tools, work) => ({ tool: 'write', arguments: { path: join(work, EDITED.file), content: EDITED.text } }),
}

const copilot: Client = {
  name: 'Copilot CLI',
  // The sum of the whole conversation: four answers.
  usage: { shows: /↑ 4\.0k \(800 cached\) • ↓ 200/ },
  compacts: { model: 'acme/chat', asks: /summar/i, bySize: true, inBackground: true },
  tells: { unknown: /'acme\/none' not found/, tooLong: /too long|context/i },
  models: ['acme/chat', 'acme/gemini'],
  setUp: () => undefined,
  ask: (home, { url, key, model, compacts }, text, turn) =>
    home.run('copilot', ['-p', text, '--allow-all-tools', ...(turn > 0 ? ['--continue'] : [])], {
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: model,
      COPILOT_OFFLINE: 'true',
      ...(compacts === true ? { COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '64000' } : {}),
    }),
  edit: (_tools, work) => ({
    tool: 'create',
    arguments: { path: join(work, EDITED.file), file_text: EDITED.text },
  }),
}

const COMMAND_LINE_CLIENTS: readonly Client[] = [
  claude,
  codex,
  codexSocket,
  geminiCli,
  opencode,
  qwen,
  cline,
  continueCli,
  aider,
  llm,
  pi,
  copilot,
]

/** Clients that the runner's argument names; without one all. */
export function commandLineClients(): readonly Client[] {
  return COMMAND_LINE_CLIENTS.filter((client) => isChosen(client))
}
