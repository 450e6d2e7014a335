import type { ChatRequest, ChatTool } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../ports/upstream-request.ts'

/**
 * `tools`, `strict_tools` and `tool_choice`; empty without tools. Cohere cannot be told one tool by name: then only
 * that tool is sent, and a call is required.
 */
export function toolFields(
  tools: readonly ChatTool[] | null,
  choice: ChatRequest['toolChoice'],
): Readonly<Record<string, unknown>> {
  if (tools === null) return {}
  const named = choice !== null && typeof choice !== 'string' ? choice.function.name : null
  const offered = named === null ? tools : tools.filter(({ function: { name } }) => name === named)
  if (offered.length === 0) throw new UnsendableError('tool_choice: names none of the tools')
  const word = named !== null || choice === 'required' ? 'REQUIRED' : choice === 'none' ? 'NONE' : null
  return {
    tools: offered.map(({ function: { name, description, parameters = {} } }) => ({
      type: 'function',
      function: {
        name,
        ...(description === undefined ? {} : { description }),
        parameters: Object.keys(parameters).length === 0 ? { type: 'object', properties: {} } : parameters,
      },
    })),
    ...(offered.every(isStrict) ? { strict_tools: true } : {}),
    ...(word === null ? {} : { tool_choice: word }),
  }
}

/** Cohere's strict mode covers all tools or none, and requires each to have a required parameter. */
function isStrict({ function: { strict, parameters = {} } }: ChatTool): boolean {
  const { required } = parameters
  return strict === true && Array.isArray(required) && required.length > 0
}
