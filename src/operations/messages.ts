import type { Endpoint } from '../catalog/catalog.ts'
import { ApiError } from '../base/errors.ts'
import { losesThinking, nativeBody } from '../protocols/anthropic/client/native-body.ts'
import type { MessagesRequest, ServerTools } from '../protocols/anthropic/client/request.ts'
import { isWebSearch } from '../protocols/anthropic/client/tools.ts'
import { ownedStart, UnfilteredMessages } from '../protocols/anthropic/client/unfiltered-writer.ts'
import { MessagesWriter, PING } from '../protocols/anthropic/client/writer.ts'
import { JsonBytes, jsonParts } from '../base/json-text.ts'
import { planChat, recountedHold } from '../pay/plan/chat-plan.ts'
import { isPriced } from '../pay/plan/parameter-costs.ts'
import type { Plan, PlanInput } from '../plan/plan.ts'
import type { Adapter, AdapterTable } from '../protocols/ports/adapter.ts'
import type { AnswerSink, RunningCall } from '../protocols/ports/call.ts'
import type { AttemptStart, Operation } from '../pay/relay/operation.ts'
import { ChatAttempt } from '../pay/operations/chat-attempt.ts'
import { askTranslated, chatFields } from './chat-call.ts'
import { unpricedMarks, unsentParts } from './unsent.ts'

/** Its names of parameters that others call otherwise. */
const WORDS: Readonly<Record<string, string>> = {
  stop: 'stop_sequences',
  user: 'metadata.user_id',
  reasoning: 'thinking',
  response_format: 'output_config.format',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
}
/** Provider-run tools that cost only the tokens of their results. */
const TOKENS_ONLY = /^(?:web_fetch|tool_search_tool)_/

/** Messages (clients.md 2): unfiltered where the endpoint speaks them, else as the equivalent chat. */
export function messagesOperation(request: MessagesRequest, requestId: string, adapters: AdapterTable): Operation {
  const { chat, serverTools, withheld, untranslated } = request
  return {
    type: 'messages',
    ...chatFields(chat),
    keepAlive: PING,
    fitsFunds: false,
    ...(serverTools === null ? {} : { mayExceed: () => true }),
    plan: (input) => planMessages(request, input, adapters),
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens, { hosted: serverTools }),
    begin: (start, sink) => {
      const { candidate, identity, tokens } = start
      const isNative = speaks(candidate.endpoint, start.adapter)
      const message = { ...identity, requestId }
      const count = (): number => tokens.countChat(chat, candidate.model.tokenizer)
      return new ChatAttempt(
        {
          request: chat,
          writer: isNative
            ? new UnfilteredMessages(message)
            : new MessagesWriter(message, request.omitsThinking, count),
          inputs: 1,
          ...(serverTools === null ? {} : { readings: 1 + serverTools.callsMax }),
          ...(isNative ? { searchesMax: serverTools?.searchesMax ?? 0 } : {}),
          start,
          sink,
          dropped: [
            ...withheld,
            ...(isNative
              ? [
                  ...unpricedMarks(chat, candidate.endpoint),
                  ...(losesThinking(request, candidate.sendMaxTokens) ? ['thinking'] : []),
                ]
              : [...untranslated, ...unsentParts(chat, start, WORDS)]),
          ],
        },
        (answers) => (isNative ? askNatively(request, start, answers) : askTranslated(start, chat, answers, WORDS)),
      )
    },
  }
}

/** The operator may turn it off for a service that implements only a part of the protocol. */
function speaks({ nativeMessages = true }: Endpoint, adapter: Adapter | undefined): boolean {
  return nativeMessages && adapter?.messages !== undefined
}

function planMessages(request: MessagesRequest, input: PlanInput, adapters: AdapterTable): Plan {
  const { chat, nativeOnly, serverTools } = request
  const native = (endpoint: Endpoint): boolean => speaks(endpoint, adapters.get(endpoint.provider.adapter))
  const any = (endpoint: Endpoint): boolean =>
    native(endpoint) || adapters.get(endpoint.provider.adapter)?.chat !== undefined
  const plan = (able: (endpoint: Endpoint) => boolean): Plan =>
    planChat({ ...input, request: chat, type: 'messages', able, hosted: serverTools })
  if (nativeOnly === null) return plan(any)
  try {
    return plan((endpoint) => native(endpoint) && unpricedTool(serverTools, endpoint) === null)
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.errorName !== 'model_not_found') throw thrown
    // The model may not exist; this plan then gives the refusal.
    const [candidate] = plan(any).candidates
    const unpriced = candidate === undefined ? null : unpricedTool(serverTools, candidate.endpoint)
    const isSpoken = candidate?.model.endpoints.some(native) === true
    const id = candidate?.model.id ?? ''
    if (isSpoken && unpriced !== null)
      throw new ApiError(
        'invalid_input',
        `tools: '${unpriced}' is not offered with model '${id}': it has no price there. Leave it out, or run such a tool yourself`,
      )
    throw new ApiError(
      'invalid_input',
      nativeOnly.path.startsWith('tools')
        ? `${nativeOnly.path}: '${nativeOnly.type}' is not offered with model '${id}'. Only functions of your own are`
        : `${nativeOnly.path}: '${nativeOnly.type}' is offered only with models of Anthropic's protocol, not with '${id}'`,
    )
  }
}

/** The type of a provider-run tool without a price at the endpoint; null = none. */
function unpricedTool(tools: ServerTools | null, { priced }: Endpoint): string | null {
  return tools?.types.find((type) => !TOKENS_ONLY.test(type) && !(isWebSearch(type) && priced.has('search'))) ?? null
}

function askNatively(request: MessagesRequest, start: AttemptStart, sink: AnswerSink): RunningCall {
  const { adapter, candidate, apiKey, generationId, identity } = start
  const { endpoint, sendMaxTokens } = candidate
  if (adapter.messages === undefined)
    throw new Error(`Adapter '${adapter.name}' has no messages: only those that have are asked so.`)
  const cacheMarks = !isPriced(endpoint, 'cache_control')
    ? 'none'
    : endpoint.priced.has('input_cache_write_1h')
      ? 'all'
      : 'short'
  return adapter.messages(
    {
      endpoint,
      apiKey,
      body: bytesOf(
        request,
        nativeBody(request, { model: endpoint.upstreamModel, maxTokens: sendMaxTokens, cacheMarks }),
      ),
      headers: request.headers,
      streaming: request.chat.stream,
      generationId,
      startOf: (event) => ownedStart(event, identity),
    },
    sink,
  )
}

/** `safeguards` is passed on byte for byte: reading and writing JSON may change a number, an escape or an order. */
function bytesOf({ safeguards }: MessagesRequest, body: Readonly<Record<string, unknown>>): Buffer {
  if (safeguards === null || body['safeguards'] === undefined) return Buffer.from(JSON.stringify(body))
  const raw = new JsonBytes(safeguards)
  return Buffer.concat(jsonParts({ ...body, safeguards: raw }, [raw]))
}
