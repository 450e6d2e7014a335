import { ollamaEmbedBody, parseOllamaEmbed } from '../kinds/ollama/embed.ts'
import { parseOllamaChat } from '../protocols/ollama/client/parse.ts'
import type { OllamaChatRequest } from '../kinds/ollama/request.ts'
import { OllamaWriter, SILENT_LINE } from '../protocols/ollama/client/writer.ts'
import { planChat, recountedHold } from '../pay/plan/chat-plan.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import type { Operation } from '../pay/relay/operation.ts'
import { ChatAttempt } from '../pay/operations/chat-attempt.ts'
import { askTranslated, canChat, chatFields } from './chat-call.ts'
import { embeddingsOperations } from '../pay/operations/embeddings.ts'
import { withSession, type PaidKind } from './paid-kind.ts'
import { unsentParts } from './unsent.ts'

const LINES = 'application/x-ndjson'
/** Its names of parameters that others call otherwise. */
const WORDS: Readonly<Record<string, string>> = {
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

/** The calls of Ollama's clients (clients.md 6), each as a request of an existing type. */
export function ollamaDoors(adapters: AdapterTable): readonly PaidKind[] {
  const embed = embeddingsOperations(adapters, ollamaEmbedBody)
  return [
    {
      body: 'json',
      protocol: 'ollama',
      paths: ['/api/chat'],
      read: ({ json, sessionId }) => {
        const request = parseOllamaChat(json)
        return ollamaChatOperation({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
      },
    },
    {
      body: 'json',
      protocol: 'ollama',
      paths: ['/api/embed'],
      read: ({ json, sessionId }) => embed(withSession(parseOllamaEmbed(json), sessionId)),
    },
  ]
}

function ollamaChatOperation({ chat, dropped }: OllamaChatRequest, adapters: AdapterTable): Operation {
  const able = canChat(adapters)
  return {
    type: 'chat',
    ...chatFields(chat),
    contentType: chat.stream ? LINES : null,
    keepAlive: SILENT_LINE,
    plan: (input) => planChat({ ...input, request: chat, type: 'chat', able }),
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens),
    begin: (start, sink) => {
      const writer = new OllamaWriter(start.identity)
      const left = [...dropped, ...unsentParts(chat, start, WORDS)]
      return new ChatAttempt({ request: chat, writer, inputs: 1, start, sink, dropped: left }, (answers) =>
        askTranslated(start, chat, answers, WORDS),
      )
    },
  }
}
