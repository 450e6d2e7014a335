import type { ClientCall, ClientChat, ClientInput, ClientSide, ClientWords } from '../../ports/client-call.ts'
import { ollamaEmbedBody, parseOllamaChat, parseOllamaEmbed } from './parse.ts'
import { OllamaWriter, SILENT_LINE } from './writer.ts'
import { isoTime } from '../../../base/time.ts'
import type { Model } from '../../../catalog/catalog.ts'

/**
 * The first version of Ollama whose clients know tools and thinking in the form sent here; clients ask for the version
 * to learn what they may send.
 */
const OLLAMA_VERSION = '0.12.0'

/** The list of models for Ollama's clients (clients.md 6), and the answers to their first questions. */
const OLLAMA_READS: NonNullable<ClientSide['reads']> = {
  '/api/tags': (models) => ({ models: models.filter(isCallable).map(ollamaModel) }),
  '/api/version': () => ({ version: OLLAMA_VERSION }),
}

const LINES = 'application/x-ndjson'

const WORDS: ClientWords = {
  temperature: 'options.temperature',
  top_p: 'options.top_p',
  top_k: 'options.top_k',
  min_p: 'options.min_p',
  frequency_penalty: 'options.frequency_penalty',
  presence_penalty: 'options.presence_penalty',
  repetition_penalty: 'options.repeat_penalty',
  seed: 'options.seed',
  stop: 'options.stop',
  response_format: 'format',
  reasoning: 'think',
}

/** The calls of Ollama's clients (clients.md 6). */
const CALLS: readonly ClientCall[] = [
  { paths: ['/api/chat'], protocol: 'ollama', kind: 'chat', read: readOllamaChat },
  {
    paths: ['/api/embed'],
    protocol: 'ollama',
    kind: 'embeddings',
    read: ({ json }) => parseOllamaEmbed(json),
    write: ollamaEmbedBody,
  },
]

export const OLLAMA: ClientSide = { calls: CALLS, reads: OLLAMA_READS }

function readOllamaChat({ json }: ClientInput): ClientChat {
  const { chat, dropped } = parseOllamaChat(json)
  return {
    type: 'chat',
    chat,
    words: WORDS,
    contentType: LINES,
    keepAlive: SILENT_LINE,
    dropped: () => dropped,
    writer: ({ identity }) => new OllamaWriter(identity),
  }
}

/** Whether these clients can call the model at all. */
function isCallable({ type }: Model): boolean {
  return type === 'chat' || type === 'embeddings'
}

function ollamaModel({ id, created }: Model): Record<string, unknown> {
  const family = id.split('/', 1)[0] ?? ''
  return {
    name: id,
    model: id,
    modified_at: isoTime(created * 1_000),
    size: 0,
    digest: '',
    details: {
      parent_model: '',
      format: '',
      family,
      families: [family],
      parameter_size: '',
      quantization_level: '',
    },
  }
}
