import type { ChatRequest } from '../../kinds/chat/request.ts'
import type { Endpoint } from '../../catalog/catalog.ts'
import type { ReasoningForm } from '../../catalog/dialect.ts'
import { objectOf } from '../wire/raw-json.ts'

/** The client's wish for reasoning in the spelling that the service accepts; empty where it accepts none. */
export function openaiReasoning(endpoint: Endpoint, request: ChatRequest): Readonly<Record<string, unknown>> {
  const { reasoning_effort: given, reasoning: raw } = request.parameters
  const reasoning = objectOf(raw)
  const effort = given ?? reasoning?.['effort'] ?? (reasoning?.['enabled'] === false ? 'none' : undefined)
  if (reasoning === null && effort === undefined) return {}
  switch (formOf(endpoint, reasoning !== null)) {
    case 'effort':
      return effort === undefined ? {} : { reasoning_effort: effort }
    case 'object':
      return { reasoning: reasoning ?? { effort } }
    case 'thinking':
      return { thinking: { type: effort === 'none' ? 'disabled' : 'enabled' } }
    case null:
      return {}
  }
}

/** An endpoint without a list is taken for OpenAI's own, whose API refuses `reasoning`. */
function formOf({ provider, supportedParameters }: Endpoint, asObject: boolean): ReasoningForm | null {
  if (provider.dialect.reasoning !== null) return provider.dialect.reasoning
  if (supportedParameters === null) return 'effort'
  const [object, effort] = [supportedParameters.includes('reasoning'), supportedParameters.includes('reasoning_effort')]
  if (object && (asObject || !effort)) return 'object'
  return effort ? 'effort' : null
}
