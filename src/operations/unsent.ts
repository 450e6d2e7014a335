import type { Endpoint } from '../catalog/catalog.ts'
import type { ChatRequest } from '../kinds/chat/request.ts'
import { ownValue } from '../base/own-value.ts'
import { isMarked, isPriced } from '../pay/plan/parameter-costs.ts'
import type { AttemptStart } from '../pay/relay/operation.ts'

/** Parameters of ours that say the same: an endpoint that takes one of them is sent it. */
const ALIKE: readonly (readonly string[])[] = [
  ['reasoning', 'reasoning_effort'],
  ['response_format', 'structured_outputs'],
]
/** Named as a tool, or no part of its own: one follows `reasoning`, one `modalities`. */
const OTHERWISE: ReadonlySet<string> = new Set(['web_search_options', 'include_reasoning', 'image_config'])

/**
 * Parameters of a translated request that its endpoint is not sent (clients.md D-14.3), in the words of the client's
 * protocol; a parameter without a word has the same name there.
 */
export function unsentParts(
  chat: ChatRequest,
  { adapter, candidate: { endpoint } }: AttemptStart,
  words: Readonly<Record<string, string>>,
): readonly string[] {
  const takes = (name: string): boolean => endpoint.supportedParameters?.includes(name) !== false
  const isSent = (name: string): boolean => {
    if (name === 'reasoning' && adapter.sendsReasoning?.(endpoint, chat) === false) return false
    const names = ALIKE.find((alike) => alike.includes(name)) ?? [name]
    return names.some((one) => adapter.parameters.chat.includes(one) && takes(one)) && isPriced(endpoint, name)
  }
  const given = Object.keys(chat.parameters).filter((name) => !OTHERWISE.has(name))
  if (chat.responseFormat !== null) given.push('response_format')
  if (chat.tools !== null) given.push('tools')
  if (chat.toolChoice !== null) given.push('tool_choice')
  const unsent = given.filter((name) => !isSent(name)).map((name) => ownValue(words, name) ?? name)
  return [...unsent, ...unpricedMarks(chat, endpoint)]
}

/** Cache marks go only where the writing of a cache has a price. */
export function unpricedMarks({ messages }: ChatRequest, endpoint: Endpoint): readonly string[] {
  return isMarked(messages) && !isPriced(endpoint, 'cache_control') ? ['cache_control'] : []
}
