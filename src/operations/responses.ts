import type { Endpoint } from '../catalog/catalog.ts'
import { ApiError } from '../errors.ts'
import { hostedUse, isWebSearch, type HostedUse } from '../kinds/responses/hosted-tools.ts'
import type { RequestEcho, ResponsesRequest } from '../kinds/responses/request.ts'
import { ResponsesWriter } from '../kinds/responses/writer.ts'
import { planChat, recountedHold } from '../plan/chat-plan.ts'
import { pricedRequest } from '../plan/parameter-costs.ts'
import type { Plan, PlanInput } from '../plan/plan.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import type { AnswerSink, RunningCall } from '../providers/ports/call.ts'
import type { AttemptStart, Operation } from '../relay/operation.ts'
import { ChatAttempt } from './chat-attempt.ts'

/** Tools that the provider runs, and bills by the tokens that they bring. */
const TOKENS_ONLY: ReadonlySet<string> = new Set(['mcp', 'computer', 'computer_use_preview'])

/** An operation whose answer is a Response, which can be asked for again while its stream is kept. */
export interface ResponsesOperation extends Operation {
  readonly echo: RequestEcho
}

/** Responses (wire.md D-2.4): natively where the endpoint speaks them, else as the chat that the request means. */
export function responsesOperation(request: ResponsesRequest, adapters: AdapterTable): ResponsesOperation {
  const { chat, echo } = request
  const hosted = hostedUse(request.input)
  return {
    type: 'responses',
    delivery: chat.stream ? 'events' : 'whole',
    contentType: null,
    sessionId: chat.sessionId,
    conversation: chat,
    fitsFunds: chat.maxTokens === null,
    ...(hosted === null ? {} : { mayExceed: true as const }),
    echo,
    plan: (input) => planResponses(request, hosted, input, adapters),
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens, { hosted }),
    begin: (start, sink) => {
      const writer = new ResponsesWriter(start.identity, echo, () => start.clock.now())
      return new ChatAttempt(
        {
          request: chat,
          writer,
          inputs: 1,
          ...(hosted === null ? {} : { readings: 1 + hosted.callsMax }),
          start,
          sink,
        },
        (answers) => ask(request, start, answers),
      )
    },
  }
}

export function isResponsesOperation(operation: Operation): operation is ResponsesOperation {
  return operation.type === 'responses' && 'echo' in operation
}

function planResponses(
  request: ResponsesRequest,
  hosted: HostedUse | null,
  input: PlanInput,
  adapters: AdapterTable,
): Plan {
  const { chat, nativeOnly } = request
  const native = (endpoint: Endpoint): boolean =>
    endpoint.nativeResponses && adapters.get(endpoint.provider.adapter)?.responses !== undefined
  const speaks = (endpoint: Endpoint): boolean =>
    native(endpoint) || adapters.get(endpoint.provider.adapter)?.chat !== undefined
  const plan = (able: (endpoint: Endpoint) => boolean): Plan =>
    planChat({ ...input, request: chat, type: 'responses', able, hosted })
  if (nativeOnly === null) return plan(speaks)
  try {
    return plan((endpoint) => native(endpoint) && unpricedTool(hosted, endpoint) === null)
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.errorName !== 'model_not_found') throw thrown
    // The model may not be there at all, which this then says.
    const [candidate] = plan(speaks).candidates
    const { path, type } = nativeOnly
    const unpriced =
      candidate === undefined || !candidate.model.endpoints.some(native)
        ? null
        : unpricedTool(hosted, candidate.endpoint)
    if (unpriced !== null)
      throw new ApiError(
        'invalid_input',
        `tools: '${unpriced}' is not offered with model '${candidate?.model.id ?? ''}': it has no price there. Leave it out, or run such a tool yourself`,
      )
    throw new ApiError(
      'invalid_input',
      `${path}: '${type}' is not offered with model '${candidate?.model.id ?? ''}'. Only functions of your own are`,
    )
  }
}

/**
 * The type of a tool that the provider runs and bills and that has no price at the endpoint; null = there is none.
 * Only web search has a price: no answer reports the cost of code sessions, pictures and other tools.
 */
function unpricedTool(hosted: HostedUse | null, { priced }: Endpoint): string | null {
  return hosted?.types.find((type) => !(isWebSearch(type) && priced.has('search')) && !TOKENS_ONLY.has(type)) ?? null
}

function ask(request: ResponsesRequest, start: AttemptStart, sink: AnswerSink): RunningCall {
  const { adapter, candidate, apiKey, generationId } = start
  const { endpoint, sendMaxTokens } = candidate
  if (endpoint.nativeResponses && adapter.responses !== undefined)
    return adapter.responses({ endpoint, apiKey, request, sendMaxTokens, generationId }, sink)
  if (adapter.chat === undefined)
    throw new Error(
      `Adapter '${adapter.name}' has neither Responses nor chat: the plan lets only those through that have.`,
    )
  return adapter.chat(
    { endpoint, apiKey, request: pricedRequest(request.chat, endpoint), sendMaxTokens, generationId, splice: null },
    sink,
  )
}
