import type { Endpoint } from '../catalog/catalog.ts'
import { ApiError, type ErrorName } from '../base/errors.ts'
import { isObject, wordOf, type RawObject } from '../kinds/fields/json-fields.ts'
import { hostedUse, isHosted, isWebSearch, type HostedUse } from '../protocols/responses/client/hosted-tools.ts'
import type {
  DemandedTool,
  RequestEcho,
  ResponsesInput,
  ResponsesRequest,
} from '../protocols/responses/client/request.ts'
import { ResponsesWriter } from '../protocols/responses/client/writer.ts'
import { planChat, recountedHold } from '../pay/plan/chat-plan.ts'
import type { Plan, PlanInput } from '../plan/plan.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import type { AnswerSink, RunningCall } from '../protocols/ports/call.ts'
import type { AttemptStart, Operation } from '../pay/relay/operation.ts'
import { ChatAttempt } from '../pay/operations/chat-attempt.ts'
import { askTranslated, chatFields, withFittedBudget } from './chat-call.ts'
import { unsentParts } from './unsent.ts'

/** Provider-run tools that are billed only by the tokens of their results. */
const TOKENS_ONLY: ReadonlySet<string> = new Set(['mcp', 'computer', 'computer_use_preview'])

/** Its names of parameters that others call otherwise. */
const WORDS: Readonly<Record<string, string>> = { response_format: 'text.format', verbosity: 'text.verbosity' }

/** No endpoint remains of those requested. */
const ABSENT: readonly ErrorName[] = ['model_not_found', 'model_not_supported', 'no_available_provider']

/** An operation whose answer is a Response, which can be retrieved while its stream is kept. */
export interface ResponsesOperation extends Operation {
  readonly echo: RequestEcho
  /** The items that its request adds to its conversation, and those that are kept. */
  readonly added: readonly unknown[]
  readonly row: ResponsesRequest['row']
}

/** Responses (wire.md D-2.4): natively where the endpoint speaks them, else as the equivalent chat. */
export function responsesOperation(request: ResponsesRequest, adapters: AdapterTable): ResponsesOperation {
  const { chat, echo } = request
  // The offer that the plan holds for. It is decided together with the endpoints, and every attempt sends exactly it.
  let offer = wholeOffer(request.input)
  return {
    type: 'responses',
    ...chatFields(chat),
    mayExceed: () => offer.hosted !== null,
    echo,
    added: request.added,
    row: request.row,
    plan: (input) => {
      const planned = planResponses(request, input, adapters)
      offer = planned.offer
      return planned.plan
    },
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens, { hosted: offer.hosted }),
    begin: (start, sink) => {
      const native = speaksResponses(start.candidate.endpoint, adapters)
      const { hosted, input } = offer
      return new ChatAttempt(
        {
          request: chat,
          writer: new ResponsesWriter(start.identity, echo, () => start.clock.now(), native ? null : request.names),
          inputs: 1,
          ...(hosted === null ? {} : { readings: 1 + hosted.callsMax }),
          ...(native ? { searchesMax: hosted?.types.some(isWebSearch) === true ? hosted.callsMax : 0 } : {}),
          start,
          sink,
          dropped: [
            ...(native ? offer.dropped : [...request.dropped, ...unsentParts(chat, start, WORDS)]),
            ...request.ignored,
          ],
        },
        (answers) => ask({ ...request, input }, start, answers),
      )
    },
  }
}

export function isResponsesOperation(operation: Operation): operation is ResponsesOperation {
  return operation.type === 'responses' && 'echo' in operation
}

/** The parts of a request that are sent to providers of its protocol. */
interface Offer {
  readonly input: ResponsesInput
  readonly hosted: HostedUse | null
  /** Tools without a price there, by the names of `X-Tollgate-Dropped`. */
  readonly dropped: readonly string[]
}

interface PlannedOffer {
  readonly plan: Plan
  readonly offer: Offer
}

/**
 * With provider-run tools, if an endpoint offers them at a price; else without them: a tool that must be called is
 * refused then (clients.md 3).
 */
function planResponses(request: ResponsesRequest, input: PlanInput, adapters: AdapterTable): PlannedOffer {
  const { chat, demanded } = request
  const native = (endpoint: Endpoint): boolean => speaksResponses(endpoint, adapters)
  const speaks = (endpoint: Endpoint): boolean =>
    native(endpoint) || adapters.get(endpoint.provider.adapter)?.chat !== undefined
  const plan = (able: (endpoint: Endpoint) => boolean, { hosted }: Offer): Plan =>
    planChat({ ...input, request: chat, type: 'responses', able, hosted })
  const offer = nativeOffer(request)
  const planned =
    offer === null
      ? null
      : unlessAbsent(() => plan((endpoint) => native(endpoint) && unpricedTool(offer.hosted, endpoint) === null, offer))
  if (offer !== null && planned !== null) return { plan: planned, offer }
  const bare = withoutTools(request, () => true)
  const plain = plan(speaks, bare)
  if (demanded !== null) throw undemandable(demanded, plain, native)
  return { plan: plain, offer: bare }
}

/**
 * Parts that only providers of this protocol can serve; null = chat can express everything, so neither is preferred.
 */
function nativeOffer(request: ResponsesRequest): Offer | null {
  const { input, demanded } = request
  const offer = demanded === null ? withoutTools(request, (type) => !canBePriced(type)) : wholeOffer(input)
  return demanded !== null || (offer.hosted?.types.length ?? 0) > 0 || needsNative(request) ? offer : null
}

function wholeOffer(input: ResponsesInput): Offer {
  return { input, hosted: hostedUse(input), dropped: [] }
}

/** Whether items would lose something in chat. */
function needsNative({ dropped }: ResponsesRequest): boolean {
  return dropped.some((name) => name.startsWith('input.'))
}

function withoutTools({ input }: ResponsesRequest, isLeftOut: (type: string) => boolean): Offer {
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

/** A provider refuses a list of allowed tools that names a missing one. */
function choiceWithout(
  { toolChoice }: ResponsesInput,
  leaves: (tool: RawObject) => boolean,
): ResponsesInput['toolChoice'] {
  if (toolChoice === null || typeof toolChoice === 'string' || !Array.isArray(toolChoice['tools'])) return toolChoice
  const tools: readonly unknown[] = toolChoice['tools']
  const left = tools.filter((tool) => !isObject(tool) || !leaves(tool))
  return left.length === 0 ? 'none' : { ...toolChoice, tools: left }
}

function unlessAbsent(plan: () => Plan): Plan | null {
  try {
    return plan()
  } catch (thrown) {
    // The model may not exist, or not for this client; the next plan then gives the refusal.
    if (thrown instanceof ApiError && ABSENT.includes(thrown.errorName)) return null
    throw thrown
  }
}

function undemandable({ path, type }: DemandedTool, plan: Plan, native: (endpoint: Endpoint) => boolean): ApiError {
  const [candidate] = plan.candidates
  const model = candidate?.model.id ?? ''
  return candidate?.model.endpoints.some(native) === true
    ? new ApiError(
        'invalid_input',
        `${path}: '${type}' is not offered with model '${model}': it has no price there. Leave it out, or run such a tool yourself`,
      )
    : new ApiError(
        'invalid_input',
        `${path}: '${type}' is not offered with model '${model}'. Only functions of your own are`,
      )
}

function speaksResponses({ nativeResponses, provider }: Endpoint, adapters: AdapterTable): boolean {
  return nativeResponses && adapters.get(provider.adapter)?.responses !== undefined
}

/** The type of a provider-run tool without a price at the endpoint; null = none. */
function unpricedTool(hosted: HostedUse | null, endpoint: Endpoint): string | null {
  return hosted?.types.find((type) => !isPriced(type, endpoint)) ?? null
}

/** Only web search has a price: no answer reports the cost of code sessions, pictures and other tools. */
function isPriced(type: string, { priced }: Endpoint): boolean {
  return (isWebSearch(type) && priced.has('search')) || TOKENS_ONLY.has(type)
}

function canBePriced(type: string): boolean {
  return isWebSearch(type) || TOKENS_ONLY.has(type)
}

function ask(request: ResponsesRequest, start: AttemptStart, sink: AnswerSink): RunningCall {
  const { adapter, candidate, apiKey, generationId } = start
  const { endpoint, sendMaxTokens } = candidate
  if (endpoint.nativeResponses && adapter.responses !== undefined)
    return adapter.responses(
      {
        endpoint,
        apiKey,
        request: { ...request, chat: withFittedBudget(request.chat, sendMaxTokens) },
        sendMaxTokens,
        generationId,
      },
      sink,
    )
  return askTranslated(start, request.chat, sink, WORDS)
}
