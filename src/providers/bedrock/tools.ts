import { constrainedSchema } from '../anthropic/constrained-schema.ts'
import type { ChatRequest, ChatTool } from '../../kinds/chat/request.ts'
import type { BedrockModel } from './bedrock-model.ts'
import type { Block } from './content.ts'
import type { Conversation } from './messages.ts'
import { objectSchema, type OutputFormat } from './output-format.ts'

/** The most tools that can be constrained at once. */
const STRICT_TOOLS_MAX = 20
const UNKNOWN_TOOL = 'unknown_tool'

export interface ToolConfig {
  /** null = the request has none. */
  readonly toolConfig: Block | null
  /** The answer must be a tool call, which excludes thinking. */
  readonly isForced: boolean
}

/** `tools` and `choice` are the client's, as far as the endpoint takes them. */
export function toolConfigOf(
  tools: readonly ChatTool[],
  choice: ChatRequest['toolChoice'],
  format: OutputFormat,
  conversation: Conversation,
  model: BedrockModel,
): ToolConfig {
  // The protocol has no choice `none`: tools that must not be called are left out, unless the history needs them.
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

/** `strict` where the schema can be enforced; else it is dropped, as for providers that do not know it. */
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

/** Calls and results in the history need definitions, even when the client no longer sends any. */
function historySpecs(calledTools: ReadonlySet<string>): Block[] {
  const names = calledTools.size === 0 ? [UNKNOWN_TOOL] : [...calledTools]
  return names.map((name) => ({ toolSpec: { name, inputSchema: { json: { type: 'object' } } } }))
}
