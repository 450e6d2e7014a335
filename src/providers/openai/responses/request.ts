import { hostedUse } from '../../../protocols/responses/client/hosted-tools.ts'
import { SAMPLING_PARAMETERS } from '../../../tables/parameter-table.ts'
import type { ResponsesCall } from '../../../protocols/ports/call.ts'
import type { JsonRequest } from '../../../protocols/ports/upstream-request.ts'
import { objectOf, type RawJson } from '../../../protocols/wire/raw-json.ts'
import { inputItem } from './input.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'

const PATH = '/responses'
/** Parameters that belong to the protocol. */
const OWN: readonly string[] = ['temperature', 'top_p', 'parallel_tool_calls', 'user']
/** Parameters beyond the protocol that some services accept: sent where the endpoint lists them. */
const LISTED = SAMPLING_PARAMETERS.filter((name) => !OWN.includes(name))

/**
 * The upstream's body: the typed allow-list of this endpoint's parameters (wire.md D-3.6). It asks the service to store
 * nothing, since we store nothing.
 */
export function responsesRequest({ endpoint, apiKey, request, sendMaxTokens }: ResponsesCall): JsonRequest {
  const { chat, input } = request
  const { upstreamModel, supportedParameters: supported, provider } = endpoint
  const takes = (name: string): boolean => supported === null || supported.includes(name)
  const body: Record<string, unknown> = {
    model: upstreamModel,
    input: input.items.flatMap((item) => inputItem(item, supported, provider.slug)),
    store: false,
  }
  if (input.instructions !== null) body['instructions'] = input.instructions
  if (chat.stream) body['stream'] = true
  if (sendMaxTokens !== null) body['max_output_tokens'] = sendMaxTokens
  if (input.tools.length > 0 && takes('tools')) {
    body['tools'] = input.tools.map(withoutNulls)
    if (input.toolChoice !== null && takes('tool_choice')) body['tool_choice'] = input.toolChoice
    // The hold covers calls of the provider's own tools, so their number needs a bound.
    const callsMax = hostedUse(input)?.callsMax || input.maxToolCalls
    if (callsMax !== null) body['max_tool_calls'] = callsMax
  }
  for (const name of OWN) if (chat.parameters[name] !== undefined && takes(name)) body[name] = chat.parameters[name]
  for (const name of LISTED)
    if (chat.parameters[name] !== undefined && supported !== null && supported.includes(name))
      body[name] = chat.parameters[name]
  const text = textOf(request, takes)
  if (Object.keys(text).length > 0) body['text'] = text
  const reasoning = reasoningOf(chat.parameters['reasoning'], provider.dialect.reasoning === 'object')
  if (Object.keys(reasoning).length > 0 && (takes('reasoning') || takes('reasoning_effort')))
    body['reasoning'] = reasoning
  if (input.include.length > 0) body['include'] = input.include
  for (const [name, value] of Object.entries(input.passed))
    if (takes(name) && (chat.stream || name !== 'stream_options')) body[name] = value
  return { path: PATH + provider.dialect.query, body, headers: keyHeaders(provider.dialect, apiKey) }
}

function textOf(
  { chat: { responseFormat, parameters }, echo }: ResponsesCall['request'],
  takes: (name: string) => boolean,
): RawJson {
  return {
    ...(responseFormat !== null && (takes('response_format') || takes('structured_outputs'))
      ? { format: echo.text['format'] }
      : {}),
    ...(parameters['verbosity'] !== undefined && takes('verbosity') ? { verbosity: parameters['verbosity'] } : {}),
  }
}

/** The reasoning parameters; those beyond the protocol are OpenRouter's. */
function reasoningOf(given: unknown, isExtended: boolean): RawJson {
  const { effort, summary, enabled, max_tokens: budget } = objectOf(given) ?? {}
  const wished = effort ?? (enabled === false ? 'none' : undefined)
  return {
    ...(wished === undefined ? {} : { effort: wished }),
    ...(summary === undefined ? {} : { summary }),
    ...(isExtended && enabled !== undefined ? { enabled } : {}),
    ...(isExtended && budget !== undefined ? { max_tokens: budget } : {}),
  }
}

/** A function echoed by a client has null for absent fields, which a strict service refuses. */
function withoutNulls(tool: RawJson): RawJson {
  return Object.fromEntries(Object.entries(tool).filter(([, value]) => value !== null))
}
