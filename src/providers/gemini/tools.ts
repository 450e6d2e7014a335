import type { ChatRequest, ChatTool } from '../../kinds/chat/request.ts'

type Fields = Readonly<Record<string, unknown>>

/** `tools` and `toolConfig`. The model decides on parallel calls. */
export function toolFields(tools: readonly ChatTool[] | null, choice: ChatRequest['toolChoice']): Fields {
  if (tools === null) return {}
  return {
    tools: [{ functionDeclarations: tools.map(declarationOf) }],
    ...(choice === null ? {} : { toolConfig: { functionCallingConfig: callingConfig(choice) } }),
  }
}

/** A function without parameters is declared without a schema; other schemas pass unchanged. */
function declarationOf({ function: { name, description, parameters = {} } }: ChatTool): Fields {
  const schema =
    Object.keys(parameters).length === 0
      ? {}
      : { parametersJsonSchema: parameters['type'] === undefined ? { type: 'object', ...parameters } : parameters }
  return { name, ...(description === undefined ? {} : { description }), ...schema }
}

function callingConfig(choice: NonNullable<ChatRequest['toolChoice']>): Fields {
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [choice.function.name] }
  return { mode: choice === 'none' ? 'NONE' : choice === 'required' ? 'ANY' : 'AUTO' }
}
