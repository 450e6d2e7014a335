import type { Endpoint } from '../catalog/catalog.ts'
import { ApiError } from '../base/errors.ts'
import { nativeBody } from '../protocols/gemini/client/native-body.ts'
import type { GenerateContentRequest } from '../protocols/gemini/client/request.ts'
import { ownedChunk, UnfilteredGemini } from '../protocols/gemini/client/unfiltered-writer.ts'
import { GeminiWriter } from '../protocols/gemini/client/writer.ts'
import { planChat, recountedHold } from '../pay/plan/chat-plan.ts'
import { pricedRequest, searches } from '../pay/plan/parameter-costs.ts'
import type { Plan, PlanInput } from '../plan/plan.ts'
import type { Adapter, AdapterTable } from '../protocols/ports/adapter.ts'
import type { AnswerSink, RunningCall } from '../protocols/ports/call.ts'
import type { AttemptStart, Operation } from '../pay/relay/operation.ts'
import { ChatAttempt } from '../pay/operations/chat-attempt.ts'
import { askTranslated, canChat, chatFields, inWords } from './chat-call.ts'
import { unsentParts } from './unsent.ts'

/** Events are not numbered, since not every client of the protocol ignores the other fields of an event stream. */
const TYPES = { sse: 'text/event-stream; charset=utf-8', array: 'application/json; charset=utf-8' } as const
/** Its names of parameters that others call otherwise. */
const WORDS: Readonly<Record<string, string>> = {
  temperature: 'generationConfig.temperature',
  top_p: 'generationConfig.topP',
  top_k: 'generationConfig.topK',
  presence_penalty: 'generationConfig.presencePenalty',
  frequency_penalty: 'generationConfig.frequencyPenalty',
  seed: 'generationConfig.seed',
  stop: 'generationConfig.stopSequences',
  reasoning: 'generationConfig.thinkingConfig',
  response_format: 'generationConfig.responseSchema',
  modalities: 'generationConfig.responseModalities',
  audio: 'generationConfig.speechConfig',
  tool_choice: 'toolConfig',
  n: 'generationConfig.candidateCount',
}
/** Some of these clients take a comment of an event stream for an answer; all ignore an empty line. */
const EMPTY_LINE = Buffer.from('\r\n')

/** `generateContent` (clients.md 4): unfiltered where the endpoint speaks it, else as the equivalent chat. */
export function generateContentOperation(request: GenerateContentRequest, adapters: AdapterTable): Operation {
  const { chat, framing, search, withheld, untranslated } = request
  return {
    type: 'generate_content',
    ...chatFields(chat),
    contentType: chat.stream ? TYPES[framing] : null,
    keepAlive: EMPTY_LINE,
    ...(search === null ? {} : { mayExceed: () => true }),
    plan: (input) => planContent(request, input, adapters),
    recounted: (plan, tokens) => recountedHold(plan, chat, tokens),
    begin: (start, sink) => {
      const isNative = speaks(start.adapter)
      const unsearched = search === null || searches(chat, start.candidate.endpoint) ? [] : [`tools.${search}`]
      return new ChatAttempt(
        {
          request: chat,
          writer: isNative ? new UnfilteredGemini(start.identity, request) : new GeminiWriter(start.identity, request),
          inputs: 1,
          start,
          sink,
          dropped: [
            ...withheld,
            ...unsearched,
            ...(isNative ? [] : [...untranslated, ...unsentParts(chat, start, WORDS)]),
          ],
        },
        (answers) => (isNative ? askNatively(request, start, answers) : askTranslated(start, chat, answers, WORDS)),
      )
    },
  }
}

function speaks(adapter: Adapter | undefined): boolean {
  return adapter?.generateContent !== undefined
}

function planContent(
  { chat, search, needsSearch, nativeOnly }: GenerateContentRequest,
  input: PlanInput,
  adapters: AdapterTable,
): Plan {
  const any = canChat(adapters)
  const plan = (able: (endpoint: Endpoint) => boolean): Plan =>
    toldInWords(() => planChat({ ...input, request: chat, type: 'generate_content', able }))
  if (!needsSearch && nativeOnly === null) return plan(any)
  const serves = (endpoint: Endpoint): boolean =>
    (!needsSearch || searches(chat, endpoint)) &&
    (nativeOnly === null || speaks(adapters.get(endpoint.provider.adapter)))
  try {
    return plan((endpoint) => any(endpoint) && serves(endpoint))
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.errorName !== 'model_not_found') throw thrown
    // The model may not exist; this plan then gives the refusal.
    const id = plan(any).candidates[0]?.model.id ?? ''
    if (nativeOnly !== null)
      throw new ApiError(
        'invalid_input',
        `${nativeOnly.path}: '${nativeOnly.value}' is offered only with models of Gemini's protocol, not with '${id}'`,
      )
    throw new ApiError(
      'invalid_input',
      `tools: '${search ?? ''}' is not offered with model '${id}': it has no price there. Only functions of your own are`,
    )
  }
}

/** A plan refuses more answers than a model gives by chat's name of their number. */
function toldInWords(plan: () => Plan): Plan {
  try {
    return plan()
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.errorName !== 'invalid_input') throw thrown
    throw new ApiError(thrown.errorName, inWords(thrown.message, WORDS), thrown.details)
  }
}

function askNatively(request: GenerateContentRequest, start: AttemptStart, sink: AnswerSink): RunningCall {
  const { adapter, candidate, apiKey, generationId, identity } = start
  const { endpoint, sendMaxTokens } = candidate
  if (adapter.generateContent === undefined)
    throw new Error(`Adapter '${adapter.name}' has no generateContent: only those that have are asked so.`)
  const { modalities } = pricedRequest(request.chat, endpoint).parameters
  const isSearching = searches(request.chat, endpoint)
  return adapter.generateContent(
    {
      endpoint,
      apiKey,
      body: nativeBody(request, {
        maxTokens: sendMaxTokens,
        searches: isSearching,
        modalities: Array.isArray(modalities) ? modalities.map(String) : ['text'],
      }),
      streaming: request.chat.stream,
      searches: isSearching,
      generationId,
      owned: (chunk) => ownedChunk(chunk, identity),
    },
    sink,
  )
}
