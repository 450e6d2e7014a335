import { responsesCode } from '../../../base/client-protocol.ts'
import type { ApiError } from '../../../base/errors.ts'
import { rubles } from '../../../base/money.ts'
import type { ChargedUsage, KeptStream } from '../../../kinds/answer/writer.ts'
import type { ChunkIdentity, FinishReason } from '../../../kinds/chat/answer.ts'
import type { RequestEcho } from '../request.ts'

/** The state of an answer as a client sees it. */
export interface ResponseState {
  readonly status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly output: readonly Record<string, unknown>[]
  readonly usage: ChargedUsage | null
  /** The service tier in which the answer was served; null = it is not known. */
  readonly serviceTier: string | null
  /** Unix seconds; null = it is not completed. */
  readonly completedAt: number | null
  readonly incompleteReason: 'max_output_tokens' | 'content_filter' | null
  readonly failure: ResponseFailure | null
}

export interface ResponseFailure {
  readonly code: string
  readonly message: string
  /** The type of our error, from the error table. */
  readonly errorType: string
}

/** A Response object with all its keys (wire.md D-2.4). */
export function responseBody(
  identity: ChunkIdentity,
  echo: RequestEcho,
  state: ResponseState,
): Record<string, unknown> {
  const { failure } = state
  return {
    id: responseId(identity.id),
    object: 'response',
    created_at: identity.created,
    completed_at: state.completedAt,
    status: state.status,
    background: echo.background,
    error: failure === null ? null : { code: failure.code, message: failure.message },
    ...(failure === null ? {} : { error_type: failure.errorType }),
    incomplete_details: state.incompleteReason === null ? null : { reason: state.incompleteReason },
    instructions: echo.instructions,
    max_output_tokens: echo.maxOutputTokens,
    max_tool_calls: echo.maxToolCalls,
    metadata: echo.metadata,
    model: identity.model,
    output: state.output,
    parallel_tool_calls: echo.parallelToolCalls,
    previous_response_id: echo.previousId,
    prompt_cache_key: echo.promptCacheKey,
    reasoning: echo.reasoning,
    safety_identifier: echo.safetyIdentifier,
    service_tier: state.serviceTier,
    store: echo.store,
    temperature: echo.temperature,
    text: echo.text,
    tool_choice: echo.toolChoice,
    tools: echo.tools,
    top_logprobs: 0,
    top_p: echo.topP,
    frequency_penalty: echo.frequencyPenalty,
    presence_penalty: echo.presencePenalty,
    truncation: 'disabled',
    usage: state.usage === null ? null : usageOf(state.usage),
    user: echo.user,
  }
}

/** A generation's id in the form of Responses, and the part that the ids of its items share. */
export function responseId(generationId: string): string {
  return `resp-${idTail(generationId)}`
}

export function idTail(generationId: string): string {
  return generationId.replace(/^[a-z]+-/, '')
}

export function usageOf({ report, chargedMicro }: ChargedUsage): Record<string, unknown> {
  return {
    input_tokens: report.inputTokens,
    input_tokens_details: { cached_tokens: report.cachedTokens, cache_write_tokens: report.cacheWriteTokens },
    output_tokens: report.outputTokens,
    output_tokens_details: { reasoning_tokens: report.reasoningTokens },
    total_tokens: report.inputTokens + report.outputTokens,
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
}

/** How an answer ended, by its normalised finish reason. */
export function endOf(finish: FinishReason): Pick<ResponseState, 'status' | 'incompleteReason' | 'failure'> {
  switch (finish) {
    case 'length':
      return { status: 'incomplete', incompleteReason: 'max_output_tokens', failure: null }
    case 'content_filter':
      return { status: 'incomplete', incompleteReason: 'content_filter', failure: null }
    case 'error':
      return {
        status: 'failed',
        incompleteReason: null,
        failure: { code: 'server_error', message: 'Provider returned an error', errorType: 'provider_error' },
      }
    case 'stop':
    case 'tool_calls':
      return { status: 'completed', incompleteReason: null, failure: null }
  }
}

/** Our error as one of the few codes that Responses has. Clients find in the message how long to wait. */
export function failureOf(error: ApiError): ResponseFailure {
  const { errorName, status, message, errorType, details } = error
  const code = responsesCode(errorName) ?? (status < 500 ? 'invalid_prompt' : 'server_error')
  const wait = code === 'rate_limit_exceeded' ? details.retryAfterSeconds : undefined
  return {
    code,
    message: wait === undefined ? message : `${message.replace(/\.$/, '')}. Please try again in ${wait}s.`,
    errorType,
  }
}

/** The Response of a stream for a separate request: from its last event, otherwise the known part of it. */
export function keptResponse(
  identity: ChunkIdentity,
  echo: RequestEcho,
  { lastEvent, ended }: KeptStream,
  live: 'queued' | 'in_progress' = 'in_progress',
): Record<string, unknown> {
  const response = ended === null || lastEvent === null ? null : responseIn(lastEvent)
  if (response !== null) return response
  const error = ended?.error ?? null
  const failure = error === null ? null : failureOf(error)
  const status = ended === null ? live : failure === null ? 'cancelled' : 'failed'
  return responseBody(identity, echo, {
    status,
    output: [],
    usage: ended?.usage ?? null,
    serviceTier: null,
    completedAt: null,
    incompleteReason: null,
    failure,
  })
}

/** A Response before its answer; `queued` = the answer will be made in the background. */
export function newResponse(identity: ChunkIdentity, echo: RequestEcho): Record<string, unknown> {
  return keptResponse(identity, echo, { lastEvent: null, ended: null }, echo.background ? 'queued' : 'in_progress')
}

/** The Response in an event; only the last event of a complete stream contains it. */
function responseIn(event: Buffer): Record<string, unknown> | null {
  const line = event
    .toString('utf8')
    .split('\n')
    .find((text) => text.startsWith('data: '))
  // Our own writer made the event: events with a Response have only this form.
  const { type, response } = JSON.parse(line?.slice('data: '.length) ?? '{}') as {
    type?: string
    response?: Record<string, unknown>
  }
  return response === undefined || type === 'response.created' || type === 'response.in_progress' ? null : response
}
