import { constrainedSchema } from '../anthropic/constrained-schema.ts'
import type { ChatRequest, ChatTool } from '../../kinds/chat/request.ts'
import type { BedrockModel } from './bedrock-model.ts'
import type { Block } from './content.ts'
import type { Conversation } from './messages.ts'
import { objectSchema, type OutputFormat } from './output-format.ts'

/** More tools than these cannot be constrained at once. */
const STRICT_TOOLS_MAX = 20
const UNKNOWN_TOOL = 'unknown_tool'

export interface ToolConfig {
  /** null = the request holds none. */
  readonly toolConfig: Block | null
  /** The answer has to be a call, which rules out thinking. */
  readonly isForced: boolean
}

/** `tools` and `choice` are what the endpoint takes of the client's. */
export function toolConfigOf(
  tools: readonly ChatTool[],
  choice: ChatRequest['toolChoice'],
  format: OutputFormat,
  conversation: Conversation,
  model: BedrockModel,
): ToolConfig {
  // There is no choice `none`: tools that must not be called are left out, but for the history's sake.
  const isNone = choice === 'none'
  const specs = isNone && !conversation.holdsToolBlocks ? [] : toolSpecs(tools, model)
  const known = specs.length === 0 && conversation.holdsToolBlocks ? historySpecs(conversation.calledTools) : specs
  if (format.kind === 'tool') {
    const mayCallOthers = !isNone && tools.length > 0
    const toolChoice = mayCallOthers
      ? choiceOf(choice === null || choice === 'auto' ? 'required' : choice)
      : { tool: { name: format.name } }
    return { toolConfig: { tools: [...known, { toolSpec: format.toolSpec }], toolChoice }, isForced: true }
  }
  if (known.length === 0) return { toolConfig: null, isForced: false }
  if (choice === null || isNone || specs.length === 0) return { toolConfig: { tools: known }, isForced: false }
  return { toolConfig: { tools: known, toolChoice: choiceOf(choice) }, isForced: choice !== 'auto' }
}

function choiceOf(choice: NonNullable<ChatRequest['toolChoice']>): Block {
  if (typeof choice === 'object') return { tool: { name: choice.function.name } }
  return choice === 'required' ? { any: {} } : { auto: {} }
}

/** Strict where the schema can be held to; elsewhere the word is dropped, as at providers that do not know it. */
function toolSpecs(tools: readonly ChatTool[], { claude }: BedrockModel): Block[] {
  const canBeStrict =
    claude !== null &&
    claude.constrains &&
    tools.filter((tool) => tool.function.strict === true).length <= STRICT_TOOLS_MAX
  return tools.map(({ function: { name, description = '', parameters = {}, strict } }) => {
    const schema = objectSchema(parameters)
    const constrained = strict === true && canBeStrict ? constrainedSchema(schema) : null
    return {
      toolSpec: {
        name,
        ...(description === '' ? {} : { description }),
        inputSchema: { json: constrained ?? schema },
        ...(constrained === null ? {} : { strict: true }),
      },
    }
  })
}

/** Calls and results in the history need definitions, even where the client sends none any more. */
function historySpecs(calledTools: ReadonlySet<string>): Block[] {
  const names = calledTools.size === 0 ? [UNKNOWN_TOOL] : [...calledTools]
  return names.map((name) => ({ toolSpec: { name, inputSchema: { json: { type: 'object' } } } }))
}
