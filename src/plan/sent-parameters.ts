import type { ChatRequest } from '../kinds/chat/request.ts'

/** Labels and hints that do not change the answer: no client wants to lose a provider because of them. */
const LABELS = [
  'user',
  'metadata',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'include_reasoning',
  'modalities',
]

/** Names of the parameters that the client sent, as `supportedParameters` spells them. */
export function sentParameters(request: ChatRequest): readonly string[] {
  const names = Object.keys(request.parameters).filter((name) => !LABELS.includes(name))
  if (request.maxTokens !== null && request.maxTokens !== -1) names.push('max_tokens')
  if (request.tools !== null) names.push('tools')
  if (request.toolChoice !== null) names.push('tool_choice')
  if (request.responseFormat !== null) names.push('response_format')
  return names
}
