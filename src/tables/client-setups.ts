/** The values from which a client's settings are made. */
export interface SetupFacts {
  /** The service's address, for example `https://ai.example.com`; protocols other than OpenAI's start there. */
  readonly root: string
  /** The address with `/v1`. */
  readonly base: string
  readonly key: string
  readonly model: string
}

export interface SetupPart {
  /** Name of the file that the text belongs in; absent = a terminal. */
  readonly file?: string
  /** The lines are fields of a form. */
  readonly form?: true
  readonly text: string
}

export interface ClientSetup {
  readonly name: string
  /** Its page among the documents of clients, which holds the same settings. */
  readonly page: string
  /** The model that the page uses as an example. */
  readonly pageModel: string
  readonly parts: (facts: SetupFacts) => readonly SetupPart[]
}

const PYTHON = 'main.py'
const TYPESCRIPT = 'main.ts'

/** Programs that run in a terminal; the first word of its page's name is the program's name in `tollgate launch`. */
export const AGENTS: readonly ClientSetup[] = [
  {
    name: 'Claude Code',
    page: 'claude-code',
    pageModel: 'claude-sonnet-5',
    parts: ({ root, key, model }) => [
      {
        text: `export ANTHROPIC_BASE_URL=${root}
export ANTHROPIC_AUTH_TOKEN=${key}
claude --model ${model}`,
      },
    ],
  },
  {
    name: 'Codex',
    page: 'codex',
    pageModel: 'gpt-5.5',
    parts: ({ base, key, model }) => [
      {
        file: '~/.codex/config.toml',
        text: `model = "${model}"
model_provider = "tollgate"

[model_providers.tollgate]
name = "Tollgate"
base_url = "${base}"
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"`,
      },
      {
        text: `export TOLLGATE_API_KEY=${key}
codex`,
      },
    ],
  },
  {
    name: 'Gemini CLI',
    page: 'gemini-cli',
    pageModel: 'gemini-3-flash',
    parts: ({ root, key, model }) => [
      {
        text: `export GEMINI_API_KEY=${key}
export GOOGLE_GEMINI_BASE_URL=${root}
gemini -m ${model}`,
      },
      {
        file: '~/.gemini/settings.json',
        text: `{
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "privacy": { "usageStatisticsEnabled": false },
  "general": { "disableAutoUpdate": true }
}`,
      },
    ],
  },
  {
    name: 'OpenCode',
    page: 'opencode',
    pageModel: 'anthropic/claude-sonnet-5',
    parts: ({ base, key, model }) => [
      {
        file: 'opencode.json',
        text: `{
  "$schema": "https://opencode.ai/config.json",
  "provider": {
    "tollgate": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Tollgate",
      "options": { "baseURL": "${base}", "apiKey": "${key}" },
      "models": { "${model}": { "name": "${model}" } }
    }
  }
}`,
      },
      { text: `opencode run -m tollgate/${model} "Say hello."` },
    ],
  },
  {
    name: 'Qwen Code',
    page: 'qwen-code',
    pageModel: 'qwen3-coder',
    parts: ({ base, key, model }) => [
      {
        text: `export OPENAI_BASE_URL=${base}
export OPENAI_API_KEY=${key}
export OPENAI_MODEL=${model}
qwen`,
      },
    ],
  },
  {
    name: 'Cline',
    page: 'cline',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key, model }) => [
      {
        text: `cline auth -p openai -k ${key} -b ${base} -m ${model}
cline "Say hello to everybody."`,
      },
    ],
  },
  {
    name: 'Continue',
    page: 'continue',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key, model }) => [
      {
        file: '~/.continue/config.yaml',
        text: `name: tollgate
version: 0.0.1
schema: v1
models:
  - name: Tollgate
    provider: openai
    model: ${model}
    apiBase: ${base}
    apiKey: ${key}
    roles: [chat, edit, apply]
    capabilities: [tool_use]`,
      },
      { text: 'cn --config ~/.continue/config.yaml' },
    ],
  },
  {
    name: 'Aider',
    page: 'aider',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key, model }) => [
      {
        text: `export OPENAI_API_BASE=${base}
export OPENAI_API_KEY=${key}
aider --model openai/${model}`,
      },
    ],
  },
  {
    name: 'llm',
    page: 'llm',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key, model }) => [
      {
        file: 'extra-openai-models.yaml',
        text: `- model_id: tollgate
  model_name: ${model}
  api_base: ${base}
  api_key_name: tollgate
  supports_tools: true`,
      },
      {
        text: `llm keys set tollgate        # paste ${key}
llm -m tollgate "Say hello."`,
      },
    ],
  },
  {
    name: 'Pi',
    page: 'pi',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key, model }) => [
      {
        file: '~/.pi/agent/models.json',
        text: `{
  "providers": {
    "tollgate": {
      "baseUrl": "${base}",
      "api": "openai-completions",
      "apiKey": "${key}",
      "models": [{ "id": "${model}" }]
    }
  }
}`,
      },
      { text: `pi --provider tollgate --model ${model}` },
    ],
  },
  {
    name: 'Copilot CLI',
    page: 'copilot-cli',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key, model }) => [
      {
        text: `export COPILOT_PROVIDER_BASE_URL=${base}
export COPILOT_PROVIDER_API_KEY=${key}
export COPILOT_MODEL=${model}
copilot`,
      },
    ],
  },
]

/** Programs that are set up in forms, or that we did not run; their pages say which. */
const APPLICATIONS: readonly ClientSetup[] = [
  {
    name: 'Cursor',
    page: 'cursor',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key, model }) => [
      {
        form: true,
        text: `OpenAI API Key: ${key}
Override OpenAI Base URL: ${base}
Add model: ${model}`,
      },
    ],
  },
  {
    name: 'Open WebUI',
    page: 'open-webui',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key }) => [
      {
        text: `OPENAI_API_BASE_URL=${base}
OPENAI_API_KEY=${key}`,
      },
    ],
  },
  {
    name: 'LibreChat',
    page: 'librechat',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key, model }) => [
      {
        file: 'librechat.yaml',
        text: `version: 1.2.1
endpoints:
  custom:
    - name: Tollgate
      apiKey: ${key}
      baseURL: ${base}
      models:
        default: [${model}]
        fetch: true
      titleConvo: true
      titleModel: ${model}`,
      },
    ],
  },
  {
    name: 'n8n',
    page: 'n8n',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key }) => [
      {
        form: true,
        text: `API Key: ${key}
Base URL: ${base}`,
      },
    ],
  },
  {
    name: 'Dify',
    page: 'dify',
    pageModel: 'claude-sonnet-5',
    parts: ({ base, key, model }) => [
      {
        form: true,
        text: `Model Name: ${model}
API Key: ${key}
API endpoint URL: ${base}
Completion mode: Chat
Function calling: Tool Call
Stream function calling: Support`,
      },
    ],
  },
]

const LIBRARIES: readonly ClientSetup[] = [
  library('OpenAI SDK', ({ base, key }) => [
    {
      file: PYTHON,
      text: `import openai

client = openai.OpenAI(base_url="${base}", api_key="${key}")`,
    },
    {
      file: TYPESCRIPT,
      text: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${base}', apiKey: '${key}' })`,
    },
  ]),
  library('Anthropic SDK', ({ root, key }) => [
    {
      file: PYTHON,
      text: `import anthropic

client = anthropic.Anthropic(base_url="${root}", api_key="${key}")`,
    },
    {
      file: TYPESCRIPT,
      text: `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${root}', apiKey: '${key}' })`,
    },
  ]),
  library('Google SDK', ({ root, key }) => [
    {
      file: PYTHON,
      text: `from google import genai
from google.genai import types

client = genai.Client(api_key="${key}", http_options=types.HttpOptions(base_url="${root}"))`,
    },
    {
      file: TYPESCRIPT,
      text: `import { GoogleGenAI } from '@google/genai'

const client = new GoogleGenAI({ apiKey: '${key}', httpOptions: { baseUrl: '${root}' } })`,
    },
  ]),
  library('Cohere SDK', ({ root, key }) => [
    {
      file: PYTHON,
      text: `import cohere

client = cohere.ClientV2(api_key="${key}", base_url="${root}")`,
    },
  ]),
  library('LangChain', ({ base, key, model }) => [
    {
      file: PYTHON,
      text: `from langchain_openai import ChatOpenAI

chat = ChatOpenAI(
    model="${model}", base_url="${base}", api_key="${key}", stream_usage=True
)`,
    },
    {
      file: TYPESCRIPT,
      text: `import { ChatOpenAI } from '@langchain/openai'

const chat = new ChatOpenAI({ model: '${model}', apiKey: '${key}', configuration: { baseURL: '${base}' } })`,
    },
  ]),
  library('LlamaIndex', ({ base, key, model }) => [
    {
      file: PYTHON,
      text: `from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(
    model="${model}", api_base="${base}", api_key="${key}",
    is_chat_model=True, is_function_calling_model=True, context_window=200000,
)`,
    },
  ]),
  library('Pydantic AI', ({ base, key, model }) => [
    {
      file: PYTHON,
      text: `from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url="${base}", api_key="${key}")
agent = Agent(OpenAIChatModel("${model}", provider=provider))`,
    },
  ]),
  library('OpenRouter provider', ({ base, key }) => [
    {
      file: TYPESCRIPT,
      text: `import { createOpenRouter } from '@openrouter/ai-sdk-provider'

const tollgate = createOpenRouter({ baseURL: '${base}', apiKey: '${key}' })`,
    },
  ]),
  library('Vercel AI SDK', ({ base, key }) => [
    {
      file: TYPESCRIPT,
      text: `import { createOpenAICompatible } from '@ai-sdk/openai-compatible'

const tollgate = createOpenAICompatible({ name: 'tollgate', baseURL: '${base}', apiKey: '${key}' })`,
    },
  ]),
  library('LiteLLM', ({ base, key, model }) => [
    {
      file: PYTHON,
      text: `import litellm

answer = litellm.completion(
    model="openai/${model}",          # openai/ is the protocol, the rest is the gateway's model
    messages=[{"role": "user", "content": "Say hello."}],
    api_base="${base}",
    api_key="${key}",
)`,
    },
  ]),
]

/** Every program that has a page, with the settings of that page. */
export const CLIENT_SETUPS: readonly ClientSetup[] = [...AGENTS, ...APPLICATIONS, ...LIBRARIES]

function library(name: string, parts: ClientSetup['parts']): ClientSetup {
  return { name, page: 'libraries', pageModel: 'claude-sonnet-5', parts }
}
