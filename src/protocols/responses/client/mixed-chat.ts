import { includeUsageOf } from '../../openai/client/chat/parse.ts'
import { parseMaxTokens } from '../../../kinds/chat/parameters.ts'
import type { ChatRequest } from '../../../kinds/chat/request.ts'
import { field, invalidInput, isObject } from '../../../kinds/fields/body-fields.ts'
import { parseResponses } from './parse.ts'

export interface MixedChat {
  readonly chat: ChatRequest
  /** Parts that are left out, by the names of `X-Tollgate-Dropped`. */
  readonly dropped: readonly string[]
}

/**
 * A Responses body that was posted to chat, as Cursor does; its answer is a chat answer (clients.md 6). null = a chat
 * body.
 */
export function parseMixedChat(json: unknown): MixedChat | null {
  if (!isObject(json) || field(json, 'input') === undefined) return null
  if (field(json, 'messages') !== undefined || field(json, 'prompt') !== undefined) return null
  const { chat, dropped, demanded } = parseResponses(json)
  if (demanded !== null)
    throw invalidInput(demanded.path, `'${demanded.type}' is not offered in chat. Only functions of your own are`)
  return {
    chat: {
      ...chat,
      maxTokens: chat.maxTokens ?? parseMaxTokens(json),
      includeUsage: chat.stream && includeUsageOf(json),
    },
    dropped,
  }
}
