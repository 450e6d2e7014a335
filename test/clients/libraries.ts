import { join } from 'node:path'
import { CLIENT_SETUPS } from '../../src/tables/client-setups.ts'
import { EDITED } from './clients.ts'
import type { Answered } from './model-protocols.ts'
import { CLIENTS, isChosen, type ClientHome, type Packages, type Ran, type Target } from './client-run.ts'
import { runN8n } from './n8n.ts'

/** A library or an application, driven by a script that holds the whole conversation. */
export interface Library {
  readonly name: string
  readonly packages: Packages
  readonly models: readonly string[]
  /** Asks for each text; ends with an error at the first refusal. */
  run(home: ClientHome, target: Target, texts: readonly string[]): Promise<Ran>
  /** The tokens of `REPORTED` in its output; a sentence where it shows none; absent = its script looks at them. */
  readonly usage?: RegExp | string
  /** Its message about an unknown model; absent = the gateway's. */
  readonly unknown?: RegExp
  /** Its answers beside those of the conversation; absent = 0. */
  readonly checks?: number
  /** The call of its tool that writes `EDITED`; absent = `EDIT`. */
  edit?(work: string): Answered
  /** Its request for a summary, when the gateway refuses its conversation as too long, or by its own count. */
  readonly compacts?: {
    readonly model: string
    readonly asks: RegExp
    /** A part of the text with which it goes on. */
    readonly marks: string
    readonly bySize?: true
  }
}

export const EDIT = { tool: 'write_file', arguments: { path: EDITED.file, content: EDITED.text } } as const

function pythonLibrary(
  name: string,
  models: readonly string[],
  packages: Packages = 'python',
  script = 'library_turns.py',
): Library {
  return {
    name: `${name} (Python)`,
    packages,
    models,
    run: (home, { url, key, model }, texts) =>
      home.run(join(CLIENTS, packages, 'bin/python'), [join(import.meta.dirname, script)], {
        LIBRARY: name,
        URL: url,
        KEY: key,
        MODEL: model,
        WORK: home.work,
        TEXTS: home.file('texts.json', JSON.stringify(texts)),
        DO_NOT_TRACK: '1',
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      }),
  }
}

/** Runs a script with the packages of a folder of the cache. */
function nodeScript(
  script: string,
  packages: Packages,
  more: (target: Target) => Readonly<Record<string, string>>,
): Pick<Library, 'packages' | 'run'> {
  const run: Library['run'] = (home, target, texts) =>
    home.run(process.execPath, [join(import.meta.dirname, script)], {
      PACKAGES: join(CLIENTS, packages),
      URL: target.url,
      KEY: target.key,
      MODEL: target.model,
      WORK: home.work,
      TEXTS: home.file('texts.json', JSON.stringify(texts)),
      DO_NOT_TRACK: '1',
      ...more(target),
    })
  return { packages, run }
}

function nodeLibrary(name: string, models: readonly string[]): Library {
  return { name: `${name} (Node)`, models, ...nodeScript('library-turns.ts', 'node', () => ({ LIBRARY: name })) }
}

const libreChat: Library = {
  name: 'LibreChat',
  packages: 'librechat',
  models: ['acme/chat', 'acme/messages'],
  usage: /"input_tokens":1000,"output_tokens":50/,
  compacts: {
    model: 'acme/short-chat',
    asks: /^Hold on, before you continue I need you to write me a checkpoint/,
    marks: '<summary>',
  },
  run: (home, { url, key, model }, texts) => {
    const shown = CLIENT_SETUPS.find(({ page }) => page === 'librechat')
    const [settings] = shown?.parts({ root: url, base: `${url}/v1`, key, model }) ?? []
    return home.run(process.execPath, [join(import.meta.dirname, 'librechat-turns.ts')], {
      PACKAGES: join(CLIENTS, 'librechat'),
      SETTINGS: home.file('librechat.yaml', settings?.text ?? ''),
      TEXTS: home.file('texts.json', JSON.stringify(texts)),
      WORK: home.work,
      DO_NOT_TRACK: '1',
    })
  },
}

/** The packages on which its command line and its editors stand: the command line continues only in a terminal. */
const clineCore: Library = {
  name: "Cline's core",
  models: ['acme/chat', 'acme/messages'],
  usage: /"inputTokens":1000,"outputTokens":50,"cacheReadTokens":200/,
  edit: (work) => ({ tool: 'editor', arguments: { path: join(work, EDITED.file), new_text: EDITED.text } }),
  compacts: {
    model: 'acme/short-chat',
    asks: /^Summarize this session for continuation/,
    marks: 'In short: the user said hello at length.',
    bySize: true,
  },
  ...nodeScript('cline-turns.ts', 'npm', ({ compacts }) => ({ CONTEXT: compacts === true ? '60000' : '200000' })),
}

const LIBRARIES: readonly Library[] = [
  pythonLibrary('litellm openai', ['acme/chat', 'acme/messages']),
  pythonLibrary('litellm anthropic', ['acme/messages', 'acme/chat']),
  pythonLibrary('langchain openai', ['acme/chat', 'acme/gemini']),
  pythonLibrary('langchain anthropic', ['acme/messages', 'acme/responses']),
  pythonLibrary('llamaindex openai', ['acme/chat', 'acme/gemini'], 'llamaindex'),
  pythonLibrary('anthropic', ['acme/messages', 'acme/chat']),
  pythonLibrary('google-genai', ['acme/gemini', 'acme/chat']),
  pythonLibrary('cohere', ['acme/chat', 'acme/messages']),
  {
    name: 'n8n',
    packages: 'n8n',
    models: ['acme/responses', 'acme/messages'],
    run: runN8n,
    usage: 'an estimate of its own',
  },
  {
    ...pythonLibrary('Open WebUI', ['acme/chat', 'acme/messages'], 'open-webui', 'open_webui_turns.py'),
    usage: /"prompt_tokens": 1000/,
    // Its user chooses from the list of the gateway, in which the script does not find it.
    unknown: /AssertionError/,
  },
  clineCore,
  pythonLibrary('pydantic-ai', ['acme/chat', 'acme/gemini'], 'pydantic-ai'),
  nodeLibrary('langchain', ['acme/chat', 'acme/messages']),
  nodeLibrary('OpenRouter provider', ['acme/chat', 'acme/gemini']),
  libreChat,
  { ...pythonLibrary('Dify', ['acme/chat', 'acme/messages'], 'dify', 'dify_turns.py'), checks: 1 },
]

/** Libraries that the runner's argument names; without one all. */
export function libraries(): readonly Library[] {
  return LIBRARIES.filter((library) => isChosen(library))
}
