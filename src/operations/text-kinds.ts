import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../kinds/fields/json-fields.ts'
import { parseChat } from '../protocols/openai/client/chat/parse.ts'
import { withRawMessages } from '../kinds/chat/raw-messages.ts'
import { parseCohereChat } from '../protocols/cohere/client/parse.ts'
import { parseCompletions } from '../kinds/completions/parse.ts'
import { parseMessages } from '../protocols/anthropic/client/parse.ts'
import { parseMixedChat } from '../protocols/responses/client/mixed-chat.ts'
import { parseResponses } from '../protocols/responses/client/parse.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import type { CohereChatRequest } from '../kinds/cohere/request.ts'
import { CohereWriter } from '../protocols/cohere/client/writer.ts'
import { planChat, recountedHold } from '../pay/plan/chat-plan.ts'
import type { Operation } from '../pay/relay/operation.ts'
import { textAround } from '../protocols/openai/client/chat/chunk.ts'
import type { ChatRequest } from '../kinds/chat/request.ts'
import { ChatWriter } from '../protocols/openai/client/chat/writer.ts'
import type { PlanInput } from '../plan/plan.ts'
import { completionsOperation } from './completions.ts'
import { readGenerateContent } from './gemini-doors.ts'
import { messagesOperation } from './messages.ts'
import { sessionOf, withSession, type RequestReader } from './paid-kind.ts'
import { responsesOperation } from './responses.ts'
import { ChatAttempt } from '../pay/operations/chat-attempt.ts'
import { askChat, askTranslated, canChat, chatFields } from './chat-call.ts'
import { unsentParts } from './unsent.ts'

/** Headers with which Codex versions name their conversation (clients.md D-14.7). */
const CODEX_SESSIONS = ['session-id', 'session_id', 'thread-id', 'conversation_id'] as const

/** Cohere's names of parameters that others call otherwise. */
const COHERE_WORDS: Readonly<Record<string, string>> = {
  stop: 'stop_sequences',
  top_k: 'k',
  top_p: 'p',
  reasoning: 'thinking',
}

/** Chat's own names are those of the parameters. */
const CHAT_WORDS: Readonly<Record<string, string>> = {}

/** Requests of the types that chat models serve. */
export function textReaders(
  adapters: AdapterTable,
): Readonly<
  Record<'chat' | 'responses' | 'messages' | 'generate_content' | 'cohere_chat' | 'completions', RequestReader>
> {
  return {
    chat: {
      body: 'json',
      read: ({ json, jsonMember, sessionId }) => {
        const mixed = parseMixedChat(json)
        if (mixed !== null) return chatOperation(withSession(mixed.chat, sessionId), adapters, mixed.dropped)
        const request = withSession(parseChat(json), sessionId)
        return chatOperation(withRawMessages(request, json, jsonMember('messages')), adapters)
      },
    },
    responses: {
      body: 'json',
      continues: true,
      read: ({ json, door, sessionId, headers }) => {
        const request = parseResponses(json, door)
        const session = sessionId ?? sessionOf(request.echo.promptCacheKey ?? undefined) ?? codexSession(headers)
        return responsesOperation({ ...request, chat: withSession(request.chat, session) }, adapters)
      },
    },
    messages: {
      body: 'json',
      read: ({ json, jsonMember, sessionId, headers, rawBody, requestId }) => {
        const safeguards = isObject(json) && Object.hasOwn(json, 'safeguards') ? jsonMember('safeguards') : null
        const request = parseMessages(json, { headers, bytes: rawBody.length, safeguards })
        const session = sessionId ?? sessionOf(headers['x-claude-code-session-id'])
        return messagesOperation({ ...request, chat: withSession(request.chat, session) }, requestId, adapters)
      },
    },
    generate_content: {
      body: 'json',
      protocol: 'gemini',
      read: (input) => readGenerateContent(input, false, adapters),
    },
    cohere_chat: {
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = parseCohereChat(json)
        return cohereChatOperation({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
      },
    },
    completions: {
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = parseCompletions(json)
        return completionsOperation({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
      },
    },
  }
}

function codexSession(headers: IncomingHttpHeaders): string | null {
  for (const name of CODEX_SESSIONS) {
    const session = sessionOf(headers[name])
    if (session !== null) return session
  }
  return null
}

/** Cohere's `/v2/chat` (clients.md 6) as a chat operation. */
function cohereChatOperation({ chat, dropped }: CohereChatRequest, adapters: AdapterTable): Operation {
  const able = canChat(adapters)
  return {
    type: 'cohere_chat',
    ...chatFields(chat),
    plan: (input) => planChat({ ...input, request: chat, type: 'cohere_chat', able }),
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens),
    begin: (start, sink) => {
      const writer = new CohereWriter(start.identity)
      const left = [...dropped, ...unsentParts(chat, start, COHERE_WORDS)]
      return new ChatAttempt({ request: chat, writer, inputs: 1, start, sink, dropped: left }, (answers) =>
        askTranslated(start, chat, answers, COHERE_WORDS),
      )
    },
  }
}

/** A chat operation; `dropped` are parts of the client's request that it leaves out. */
export function chatOperation(
  request: ChatRequest,
  adapters: AdapterTable,
  dropped: readonly string[] = [],
): Operation {
  const able = canChat(adapters)
  return {
    type: 'chat',
    ...chatFields(request),
    ...('web_search_options' in request.parameters ? { mayExceed: () => true } : {}),
    plan: (input: PlanInput) => planChat({ ...input, request, type: 'chat', able }),
    recounted: (plan, tokens) => recountedHold(plan, request, tokens),
    begin: (start, sink) => {
      const { identity } = start
      const writer = new ChatWriter(identity, request.includeUsage)
      const splice = request.stream ? (field: 'content' | 'reasoning') => textAround(identity, field) : null
      const left = [...dropped, ...unsentParts(request, start, CHAT_WORDS)]
      return new ChatAttempt({ request, writer, inputs: 1, start, sink, dropped: left }, (answers) =>
        start.candidate.endpoint.provider.adapter === 'openai'
          ? askChat(start, request, answers, splice)
          : askTranslated(start, request, answers, CHAT_WORDS, splice),
      )
    },
  }
}
