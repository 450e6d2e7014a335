import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider'
import type { ChatRequest, ChatTool } from '../../kinds/chat/request.ts'
import { chatParameters } from '../../protocols/ports/adapter.ts'
import type { ChatCall } from '../../protocols/ports/call.ts'
import { objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import type { SupportedUrls } from './media-part.ts'
import { sdkPrompt } from './prompt.ts'

/** Parameters that a call of the AI SDK can carry; a package drops those that its provider lacks. */
export const SDK_PARAMETERS = chatParameters('top_k', 'frequency_penalty', 'presence_penalty', 'seed', 'tool_choice')
const EFFORT_DEFAULT = 'medium'
const EFFORTS: readonly NonNullable<LanguageModelV4CallOptions['reasoning']>[] = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
]

type ToolSchema = LanguageModelV4FunctionTool['inputSchema']

/** Traits of the model that decide the request's form. */
export interface SdkModelTraits {
  readonly urls: SupportedUrls
  /** The package's name for its provider, under which it reads options of its own. */
  readonly name: string
}

/** Reads a model's traits; a package may have to ask its provider for them. */
export async function traitsOf(model: LanguageModelV4): Promise<SdkModelTraits> {
  return { urls: await model.supportedUrls, name: model.provider.split('.', 1)[0] ?? '' }
}

/** The request in the AI SDK's form. Throws an `UnsendableError` for parts that have no form there. */
export function callOptions(call: ChatCall, { urls, name }: SdkModelTraits): LanguageModelV4CallOptions {
  const { endpoint, request, sendMaxTokens } = call
  const { supportedParameters } = endpoint
  const supported = new Set(supportedParameters ?? SDK_PARAMETERS)
  const takes = (parameter: string): boolean => supported.has(parameter)
  const number = (parameter: string): number | undefined => {
    const value = takes(parameter) ? request.parameters[parameter] : undefined
    return typeof value === 'number' ? value : undefined
  }
  const options = sharedOptions(call)
  return {
    // Only an endpoint that lists the parameter gets earlier reasoning: most providers refuse it.
    prompt: sdkPrompt(request.messages, { urls, reasoning: supportedParameters !== null && takes('reasoning') }),
    ...(sendMaxTokens === null ? {} : { maxOutputTokens: sendMaxTokens }),
    ...given({
      temperature: number('temperature'),
      topP: number('top_p'),
      topK: number('top_k'),
      frequencyPenalty: number('frequency_penalty'),
      presencePenalty: number('presence_penalty'),
      seed: number('seed'),
      stopSequences: takes('stop') ? stops(request.parameters['stop']) : undefined,
      reasoning: takes('reasoning') || takes('reasoning_effort') ? effortOf(request.parameters) : undefined,
      responseFormat:
        takes('response_format') || takes('structured_outputs') ? formatOf(request.responseFormat) : undefined,
      tools: takes('tools') ? request.tools?.map(toolOf) : undefined,
      providerOptions: Object.keys(options).length === 0 ? undefined : { [name]: options },
      toolChoice:
        takes('tools') && takes('tool_choice') && request.tools !== null ? choiceOf(request.toolChoice) : undefined,
    }),
  }
}

/** The client pays for reasoning but asked not to see it. */
export function hidesReasoning({ parameters }: ChatRequest): boolean {
  return objectOf(parameters['reasoning'])?.['exclude'] === true || parameters['include_reasoning'] === false
}

/** Options that packages share only by convention: an endpoint gets one only if it lists the parameter. */
function sharedOptions({ endpoint, request }: ChatCall): Record<string, boolean> {
  const listed = (name: string): boolean => endpoint.supportedParameters?.includes(name) ?? false
  const parallel = request.parameters['parallel_tool_calls']
  const strict = objectOf(request.responseFormat?.['json_schema'])?.['strict']
  return {
    ...(typeof parallel === 'boolean' && request.tools !== null && listed('parallel_tool_calls')
      ? { parallelToolCalls: parallel }
      : {}),
    ...(typeof strict === 'boolean' && listed('structured_outputs') ? { strictJsonSchema: strict } : {}),
  }
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

function given<T extends Record<string, unknown>>(fields: T): Given<T> {
  // The filter removes exactly the values that Given takes out of the type.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>
}

function stops(stop: unknown): string[] | undefined {
  if (typeof stop === 'string') return [stop]
  return Array.isArray(stop) ? stop.filter((item) => typeof item === 'string') : undefined
}

/** The SDK has only efforts: from a budget of tokens it learns only that the model should think. */
function effortOf(parameters: ChatRequest['parameters']): LanguageModelV4CallOptions['reasoning'] {
  const reasoning = objectOf(parameters['reasoning'])
  if (reasoning?.['enabled'] === false) return 'none'
  const named = textOf(reasoning?.['effort']) ?? textOf(parameters['reasoning_effort'])
  if (named !== null) return EFFORTS.find((effort) => effort === named)
  const { enabled, max_tokens: budget } = reasoning ?? {}
  if (budget === 0) return 'none'
  return enabled === true || typeof budget === 'number' ? EFFORT_DEFAULT : undefined
}

function formatOf(format: ChatRequest['responseFormat']): LanguageModelV4CallOptions['responseFormat'] {
  if (format?.['type'] === 'json_object') return { type: 'json' }
  const described = format?.['type'] === 'json_schema' ? objectOf(format['json_schema']) : null
  const schema = objectOf(described?.['schema'])
  if (described === null || schema === null) return undefined
  const name = textOf(described['name'])
  const description = textOf(described['description'])
  // The schema is the client's JSON; the provider checks it.
  return {
    type: 'json',
    schema: schema as ToolSchema,
    ...(name === null ? {} : { name }),
    ...(description === null ? {} : { description }),
  }
}

function toolOf({ function: { name, description, parameters = {}, strict } }: ChatTool): LanguageModelV4FunctionTool {
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    // The schema is the client's JSON; the provider checks it.
    inputSchema: parameters as ToolSchema,
    ...(strict === undefined ? {} : { strict }),
  }
}

function choiceOf(choice: ChatRequest['toolChoice']): LanguageModelV4ToolChoice | undefined {
  if (choice === null) return undefined
  if (typeof choice === 'object') return { type: 'tool', toolName: choice.function.name }
  return choice === 'none' || choice === 'required' ? { type: choice } : { type: 'auto' }
}
