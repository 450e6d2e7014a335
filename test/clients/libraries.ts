import { join } from 'node:path'
import { CLIENT_SETUPS } from '../../src/client-setups.ts'
import { CLIENTS, isChosen, type ClientHome, type Ran, type Target } from './client-run.ts'
import { runN8n } from './n8n.ts'

/** A library or an application, driven by a script that holds the whole conversation. */
export interface Library {
  readonly name: string
  readonly models: readonly string[]
  /** Asks for each text; ends with an error at the first refusal. */
  run(home: ClientHome, target: Target, texts: readonly string[]): Promise<Ran>
  /** The tokens of `REPORTED` in its output; a sentence where it shows none; absent = its script looks at them. */
  readonly usage?: RegExp | string
  /** Its message about an unknown model; absent = the gateway's. */
  readonly unknown?: RegExp
  /** Its answers beside those of the conversation; absent = 0. */
  readonly checks?: number
  /** Its request for a summary, when the gateway refuses its conversation as too long. */
  readonly compacts?: { readonly model: string; readonly asks: RegExp }
}

function pythonLibrary(
  name: string,
  models: readonly string[],
  folder = 'python',
  script = 'library_turns.py',
): Library {
  return {
    name: `${name} (Python)`,
    models,
    run: (home, { url, key, model }, texts) =>
      home.run(join(CLIENTS, folder, 'bin/python'), [join(import.meta.dirname, script)], {
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

const libreChat: Library = {
  name: 'LibreChat',
  models: ['acme/chat', 'acme/messages'],
  usage: /"input_tokens":1000,"output_tokens":50/,
  compacts: { model: 'acme/short-chat', asks: /^Hold on, before you continue I need you to write me a checkpoint/ },
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

const LIBRARIES: readonly Library[] = [
  pythonLibrary('litellm openai', ['acme/chat', 'acme/messages']),
  pythonLibrary('litellm anthropic', ['acme/messages', 'acme/chat']),
  pythonLibrary('langchain openai', ['acme/chat', 'acme/gemini']),
  pythonLibrary('langchain anthropic', ['acme/messages', 'acme/responses']),
  pythonLibrary('llamaindex openai', ['acme/chat', 'acme/gemini'], 'llamaindex'),
  pythonLibrary('anthropic', ['acme/messages', 'acme/chat']),
  pythonLibrary('google-genai', ['acme/gemini', 'acme/chat']),
  pythonLibrary('cohere', ['acme/chat', 'acme/messages']),
  { name: 'n8n', models: ['acme/responses', 'acme/messages'], run: runN8n, usage: 'an estimate of its own' },
  {
    ...pythonLibrary('Open WebUI', ['acme/chat', 'acme/messages'], 'open-webui', 'open_webui_turns.py'),
    usage: /"prompt_tokens": 1000/,
    // Its user chooses from the list of the gateway, in which the script does not find it.
    unknown: /AssertionError/,
  },
  libreChat,
  { ...pythonLibrary('Dify', ['acme/chat', 'acme/messages'], 'dify', 'dify_turns.py'), checks: 1 },
]

/** Libraries whose name contains the runner's argument; without one all. */
export function libraries(): readonly Library[] {
  return LIBRARIES.filter(isChosen)
}
