import type { ClientCall, ClientChat, ClientInput, ClientSide, ClientWords } from '../../ports/client-call.ts'
import { OLLAMA_READS } from './models.ts'
import { ollamaEmbedBody, parseOllamaChat, parseOllamaEmbed } from './parse.ts'
import { OllamaWriter, SILENT_LINE } from './writer.ts'

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
