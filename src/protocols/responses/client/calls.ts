import type { IncomingHttpHeaders } from 'node:http'
import type { Endpoint } from '../../../catalog/catalog.ts'
import { ApiError } from '../../../base/errors.ts'
import { withFittedBudget } from '../../../kinds/chat/thoughts.ts'
import { isObject, wordOf, type RawObject } from '../../../kinds/fields/body-fields.ts'
import type { AnswerSink, RunningCall } from '../../ports/call.ts'
import {
  clientName,
  sessionOf,
  type ChatOffer,
  type ClientChat,
  type ClientInput,
  type ClientSide,
  type ClientStart,
  type ClientWords,
  type SpecialOffer,
} from '../../ports/client-call.ts'
import { hostedUse, isHosted, isWebSearch, type HostedUse } from '../hosted-tools.ts'
import type { DemandedTool, ResponsesInput, ResponsesRequest } from '../request.ts'
import { parseMixedChat, parseResponses } from './parse.ts'
import { ResponsesWriter } from './writer.ts'
import { REQUEST_TYPE_TABLE } from '../../../tables/model-types.ts'
import { chatCall } from '../../openai/client/chat/call.ts'

/** Provider-run tools for which only the tokens of their results are billed. */
const TOKENS_ONLY: ReadonlySet<string> = new Set(['mcp', 'computer', 'computer_use_preview'])
const WORDS: ClientWords = { response_format: 'text.format', verbosity: 'text.verbosity' }
/** Headers with which Codex versions name their conversation (clients.md D-14.7). */
const CODEX_SESSIONS = ['session-id', 'session_id', 'thread-id', 'conversation_id'] as const

/** Responses (wire.md D-2.4), of which nothing is kept. */
export const RESPONSES: ClientSide = {
  calls: [
    {
      paths: REQUEST_TYPE_TABLE.responses.paths,
      kind: 'chat',
      read: (input) => responsesCall(parseResponses(input.json, null, input.given), input),
    },
  ],
  mixed: (json) => {
    const mixed = parseMixedChat(json)
    return mixed === null ? null : chatCall(mixed.chat, mixed.dropped)
  },
}

export function responsesCall(
  request: ResponsesRequest,
  { sessionId, headers }: Pick<ClientInput, 'sessionId' | 'headers'>,
): ClientChat & { readonly request: ResponsesRequest } {
  const { chat, echo } = request
  return {
    request,
    type: 'responses',
    chat,
    words: WORDS,
    session: sessionId ?? sessionOf(echo.promptCacheKey ?? undefined) ?? codexSession(headers),
    dropped: () => request.dropped,
    writer: ({ identity, clock }) => new ResponsesWriter(identity, echo, clock, request.names),
    own: {
      speaks: ({ nativeResponses }, adapter) => nativeResponses && adapter?.responses !== undefined,
      plain: offerOf(
        request,
        withoutTools(request.input, () => true),
      ),
      special: specialOf(request),
    },
  }
}

function codexSession(headers: IncomingHttpHeaders): string | null {
  for (const name of CODEX_SESSIONS) {
    const session = sessionOf(headers[name])
    if (session !== null) return session
  }
  return null
}

/** The parts of a request that are sent to providers of its protocol. */
interface SentInput {
  readonly input: ResponsesInput
  readonly hosted: HostedUse | null
  /** Tools without a price at the endpoint, by their names in `X-Tollgate-Dropped`. */
  readonly dropped: readonly string[]
}

function offerOf(request: ResponsesRequest, { input, hosted, dropped }: SentInput): ChatOffer {
  return {
    hosted,
    native: (start) => ({
      writer: new ResponsesWriter(start.identity, request.echo, start.clock, null),
      dropped: [...dropped, ...leftParts(request, start), ...start.terms.unpriced],
      searchesMax: hosted?.types.some(isWebSearch) === true ? hosted.callsMax : 0,
      ask: (sink) => ask({ ...request, input }, start, sink),
    }),
  }
}

/** The parts that the service or its model would refuse. */
function leftParts({ chat }: ResponsesRequest, { adapter, candidate }: ClientStart): readonly string[] {
  const isGiven = (name: string): boolean =>
    name.includes('.') || name === 'tool_choice' || chat.parameters[name] !== undefined
  const left = (adapter.leaves?.(candidate.endpoint, chat) ?? []).filter(isGiven)
  return left.map((name) => clientName(name, WORDS))
}

/**
 * The request with parts that only providers of this protocol can serve; null = chat can express everything, so neither
 * is preferred. Provider-run tools are left out if no endpoint has a price for them; in that case a tool that must be
 * called is refused (clients.md 3).
 */
function specialOf(request: ResponsesRequest): SpecialOffer | null {
  const { input, demanded } = request
  const sent =
    demanded === null
      ? withoutTools(input, (type) => !canBePriced(type))
      : { input, hosted: hostedUse(input), dropped: [] }
  const isSpecial = demanded !== null || (sent.hosted?.types.length ?? 0) > 0 || losesItems(request)
  if (!isSpecial) return null
  return {
    ...offerOf(request, sent),
    serves: (endpoint, isSpoken) => isSpoken && (sent.hosted?.types ?? []).every((type) => isPriced(type, endpoint)),
    absent: ['model_not_found', 'model_not_supported', 'no_available_provider'],
    refusal: ({ model }, isSpoken) => (demanded === null ? null : undemandable(demanded, model.id, isSpoken)),
  }
}

/** Whether items would lose something in chat. */
function losesItems({ dropped }: ResponsesRequest): boolean {
  return dropped.some((name) => name.startsWith('input.'))
}

function withoutTools(input: ResponsesInput, isLeftOut: (type: string) => boolean): SentInput {
  const leaves = (tool: RawObject): boolean => isHosted(tool) && isLeftOut(wordOf(tool['type']))
  const rest = {
    ...input,
    tools: input.tools.filter((tool) => !leaves(tool)),
    toolChoice: choiceWithout(input, leaves),
  }
  return {
    input: rest,
    hosted: hostedUse(rest),
    dropped: [...new Set(input.tools.filter(leaves).map(({ type }) => `tools.${wordOf(type)}`))],
  }
}

/** The choice without the left-out tools: a provider refuses a list of allowed tools that names a missing one. */
function choiceWithout(
  { toolChoice }: ResponsesInput,
  leaves: (tool: RawObject) => boolean,
): ResponsesInput['toolChoice'] {
  if (toolChoice === null || typeof toolChoice === 'string' || !Array.isArray(toolChoice['tools'])) return toolChoice
  const tools: readonly unknown[] = toolChoice['tools']
  const left = tools.filter((tool) => !isObject(tool) || !leaves(tool))
  return left.length === 0 ? 'none' : { ...toolChoice, tools: left }
}

function undemandable({ path, type }: DemandedTool, model: string, isSpoken: boolean): ApiError {
  return new ApiError(
    'invalid_input',
    isSpoken
      ? `${path}: '${type}' is not offered with model '${model}': it has no price there. Leave it out, or run such a tool yourself`
      : `${path}: '${type}' is not offered with model '${model}'. Only functions of your own are`,
  )
}

/**
 * Whether a tool has a price: only web search can, since no answer reports the cost of code sessions, pictures and
 * other tools.
 */
function isPriced(type: string, { priced }: Endpoint): boolean {
  return (isWebSearch(type) && priced.has('search')) || TOKENS_ONLY.has(type)
}

function canBePriced(type: string): boolean {
  return isWebSearch(type) || TOKENS_ONLY.has(type)
}

function ask(request: ResponsesRequest, start: ClientStart, sink: AnswerSink): RunningCall {
  const { adapter, candidate, apiKey, generationId, terms } = start
  const { endpoint, sendMaxTokens } = candidate
  if (adapter.responses === undefined)
    throw new Error(`Adapter '${adapter.name}' has no responses: only those that have are asked so.`)
  const chat = withFittedBudget(terms.inTier, sendMaxTokens)
  return adapter.responses({ endpoint, apiKey, request: { ...request, chat }, sendMaxTokens, generationId }, sink)
}
