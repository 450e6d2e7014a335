import { setImmediate as nextTurn } from 'node:timers/promises'
import { PROMPT_MEMBERS, outwardBody, outwardForm, refuseNulInForm } from '../../kinds/fields/outward-names.ts'
import type { UploadedFile, UploadedForm } from '../../kinds/fields/uploaded-form.ts'
import type { Principal } from '../../access/principal.ts'
import { protocolOfPath } from '../../base/client-protocol.ts'
import { HIJACKED, type Call, type Reply, type Route } from '../../http/edge.ts'
import { isLong, isReadAgain } from '../../http/body.ts'
import { parseMultipart } from '../../http/multipart.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import { payerOf, type IdempotentCalls, NOT_KEPT } from '../idempotency/idempotent-calls.ts'
import { type ClientInput, sessionOf } from '../../protocols/ports/client-call.ts'
import type { KeptRequest, PaidKind } from '../paid-room.ts'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { appIdentity, endUserOf, PLAYGROUND_PATH } from '../../access/app-identity.ts'
import { breakConnection } from '../../http/slow-readers.ts'
import type { ClientStream } from '../relay/client-end.ts'
import type { Generation } from '../relay/generation.ts'
import type { AnswerKeeper, GenerationResult } from '../relay/generation-input.ts'
import { type RequestWords, failuresText } from '../relay/attempt-error.ts'
import { droppedNames, identityOf } from '../relay/outcome.ts'
import type { CallClaim, Operation } from '../relay/operation.ts'
import type { SseStreams } from '../../http/sse.ts'
import type { Relay } from '../relay/relay.ts'
import { rubles } from '../../base/money.ts'

const EMPTY = Buffer.alloc(0)
/** What is read of a shorter body is kept: it would cost more to read it again. */
const REREAD_BYTES_MIN = 8_192

export interface PaidRoutePorts extends AnswerPorts {
  readonly idempotency: IdempotentCalls
  /** The form in which providers see a name of an account. */
  readonly outwardName: (accountId: string, name: string) => string
  /** null = taken from the request's Host. */
  readonly publicUrl: string | null
}

/** The routes of all paid kinds: an HTTP call becomes an operation, which the relay answers. */
export function paidRoutes(ports: PaidRoutePorts, kinds: readonly PaidKind[]): readonly Route<Principal>[] {
  return kinds.flatMap((kind) =>
    kind.paths.map((path): Route<Principal> => ({
      method: 'POST',
      path,
      plane: 'key',
      body: kind.body,
      ...(kind.protocol === undefined ? {} : { protocol: kind.protocol }),
      priority: 'paid',
      prompts: PROMPT_MEMBERS,
      ...(kind.turns === true ? { turns: true as const } : {}),
      handle: (call) => paid(ports, kind, call),
    })),
  )
}

async function paid(ports: PaidRoutePorts, kind: PaidKind, call: Call<Principal>): Promise<Reply | typeof HIJACKED> {
  const { answer: answerFree, ...read } = await readCall(ports, kind, call)
  if (answerFree !== null) return answerFree()
  // An `Idempotency-Key` of a WebSocket's handshake would apply to every turn, so turns ignore it.
  if (call.turn !== null) return answerPaid(ports, call, read, null)
  const answer = (): Promise<Reply | typeof HIJACKED> =>
    ports.idempotency.once(call, (claim) => answerPaid(ports, call, read, claim))
  return isLong(call.rawBody ?? EMPTY) ? nextTurn().then(answer) : answer()
}

/**
 * OpenAI's routes again, for a console session that acts for one of its keys: only the payer is identified in another
 * way.
 */
export function playgroundRoutes(routes: readonly Route<Principal>[]): readonly Route<Principal>[] {
  return routes
    .filter(
      ({ plane, path, protocol = protocolOfPath(path) }) =>
        plane === 'key' && (protocol === 'openai' || protocol === 'responses'),
    )
    .map(({ turns: _turns, scope: _scope, ...route }) => ({
      ...route,
      path: route.path.replace(/^\/v1\//, PLAYGROUND_PATH),
      plane: 'playground',
    }))
}

async function readCall(
  ports: PaidRoutePorts,
  kind: PaidKind,
  call: Call<Principal>,
): Promise<ReadCall & Pick<KeptRequest, 'answer'>> {
  const { input, form } = inputOf(ports, kind, call)
  const sent = form === null ? () => call.json : () => Object.fromEntries([...form.fields, ...form.files.map(nameOf)])
  const { sessionId } = input
  const read = await kind.read(input, call)
  if ('operation' in read) return { ...read, sent }
  // The id is logged, and keeps a conversation at one provider.
  const operation = read.sessionId === null && sessionId !== null ? { ...read, sessionId } : read
  return { operation, sent, earlier: [], keeperOf: () => null, answer: null }
}

/** `form`: the multipart body in the client's own words. */
function inputOf(
  ports: PaidRoutePorts,
  kind: PaidKind,
  call: Call<Principal>,
): { readonly input: ClientInput; readonly form: UploadedForm | null } {
  const { json, rawBody = EMPTY, request, isSecure, params } = call
  const contentType = request.headers['content-type'] ?? ''
  const form = json === undefined ? parseMultipart(contentType, rawBody, kind.filesMax) : null
  refuseNulInForm(form)
  const { accountId } = payerOf(call)
  const outward = (name: string): string => ports.outwardName(accountId, name)
  const mayDrop = form === null && call.turn === null && rawBody.length >= REREAD_BYTES_MIN && isReadAgain(rawBody)
  const input = {
    json: outwardBody(json, outward),
    given: json,
    rawBody,
    jsonMember: (name: string) => call.jsonMember(name),
    contentType,
    form: form === null ? null : outwardForm(form, outward),
    params,
    query: () => call.query,
    headers: request.headers,
    requestId: call.requestId,
    sessionId: sessionOf(request.headers['x-session-id']),
    publicUrl: publicUrlOf(ports.publicUrl, { request, isSecure }),
    again: mayDrop ? () => inputOf(ports, kind, call).input : null,
  }
  return { input, form }
}

/** The fields that describe a file. */
function nameOf({ field, fileName }: UploadedFile): readonly [string, string] {
  return [field, fileName]
}

/** Headers by which agents identify a conversation, the most reliable first (clients.md D-14.7). */
const SESSION_HEADERS = [
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'thread-id',
  'x-session-affinity',
] as const
const CHARACTERS_MAX = 1_024

/** A turn state that is safe in a header. */
const TURN_STATE = /^[\x21-\x7e]{1,4096}$/

export interface AnswerPorts {
  readonly relay: Relay
  readonly sse: SseStreams
}

/** A paid call after its body is read. */
export interface ReadCall extends RequestWords {
  readonly operation: Operation
  /** null = the answer is only sent. Throws an ApiError if nothing is kept on this service. */
  readonly keeperOf: () => AnswerKeeper | null
}

/** Runs one paid call: admits it, starts its generation, and sends the answer. */
export async function answerPaid(
  ports: AnswerPorts,
  call: Call<Principal>,
  { operation, keeperOf, sent, earlier }: ReadCall,
  claim: CallClaim | null,
): Promise<Reply | typeof HIJACKED> {
  const { response } = call
  const principal = payerOf(call)
  const { appUrl, appTitle } = appIdentity(call.request.headers, call.request.url)
  const keeper = keeperOf()
  const generation = await ports.relay.admit({
    keeper,
    principal,
    operation,
    requestId: call.requestId,
    requestIdGiven: call.request.headers['x-request-id'] === call.requestId,
    startedMs: call.startedMs,
    arrivedAtMs: call.arrivedAtMs,
    appUrl,
    appTitle,
    endUser: endUserOf(sent()),
    claim,
    session: conversationOf(call.request.headers, call.json),
    sent,
    earlier,
  })
  call.dropJson()
  if (keeper?.background === true && operation.delivery === 'whole') return inBackground(call, generation, keeper)
  let stream: ClientStream | null = null
  // Until the stream is opened, nothing else watches the socket.
  response.once('close', () => {
    if (stream === null && !response.writableFinished) generation.detached(null)
  })
  if (keeper !== null) await keep(generation, keeper)
  // A client that left before anything was sent pays nothing (guarantees.md rule 2).
  if (response.destroyed && generation.input.buffer === null) void generation.cancel() // ends with `done`, as below
  else generation.start(() => (stream = openStream(ports, call, generation)))
  if (response.destroyed) generation.detached(null)
  const result = await generation.done
  logResult(call, result)
  if (response.headersSent) {
    call.log.finish(200)
    return HIJACKED
  }
  if (result.error === null && result.body === null) {
    // It was cancelled before the first byte: there is no answer, and a clean end would look like one.
    call.log.finish(200)
    if (response.socket !== null) breakConnection(response.socket)
    return HIJACKED
  }
  return replyOf(call, generation, result)
}

/** The answer is made in the background: its client asks for it later. */
async function inBackground(call: Call<Principal>, generation: Generation, keeper: AnswerKeeper): Promise<Reply> {
  await keep(generation, keeper)
  generation.start(() => null)
  const { generationId, operation } = generation.input
  call.log.set({ generation_id: generationId, status_text: 'queued' })
  const body = operation.retrieved?.(identityOf(generation.input, null), null)
  return { status: 200, body, headers: ownHeaders(generation) }
}

/** No provider is asked before there is a place for the answer. */
async function keep(generation: Generation, keeper: AnswerKeeper): Promise<void> {
  try {
    await keeper.begin(generation)
  } catch (thrown) {
    await generation.cancel()
    throw thrown
  }
  void generation.done.then((result) => keeper.end(generation, result))
}

function replyOf(call: Call<Principal>, generation: Generation, result: GenerationResult): Reply {
  const headers = ownHeaders(generation)
  const { error } = result
  if (error !== null) throw error.withHeaders(headers)
  return { status: 200, body: undefined, ...result.body, headers: { ...headers, ...answerHeaders(call, generation) } }
}

function ownHeaders(generation: Generation): Record<string, string> {
  const { generationId, plan, limitHeaders } = generation.input
  return {
    'x-generation-id': generationId,
    ...limitHeaders,
    ...(plan.maxTokensComputed ? { 'x-max-tokens': String(plan.maxTokens) } : {}),
  }
}

/** Commits the response to an event stream; null when the client has already left. */
export function openStream(ports: AnswerPorts, call: Call<Principal>, generation: Generation): ClientStream | null {
  const response: ServerResponse = call.response
  if (response.destroyed) return null
  return ports.sse.open(
    response,
    {
      ...call.baseHeaders,
      ...ownHeaders(generation),
      ...answerHeaders(call, generation),
      ...(generation.input.claim === null ? {} : NOT_KEPT),
    },
    generation,
    generation.input.operation.contentType ?? undefined,
  )
}

/** Headers of a successful answer: Codex reads the turn's state here, and repeats it in the turn's further requests. */
function answerHeaders({ request }: Call<Principal>, { dropped }: Generation): Record<string, string> {
  const state = request.headers['x-codex-turn-state']
  return {
    ...(typeof state === 'string' && TURN_STATE.test(state) ? { 'x-codex-turn-state': state } : {}),
    ...droppedHeader(dropped),
  }
}

/** The header with the parts of the request that the answer was made without (clients.md D-14.3). */
function droppedHeader(dropped: readonly string[]): Record<string, string> {
  return dropped.length === 0 ? {} : { 'x-tollgate-dropped': droppedNames(dropped) }
}

/** Writes the generation's facts into the request's log line and trace. */
function logResult(call: Call<Principal>, result: GenerationResult): void {
  const { record } = result
  call.log.set({
    generation_id: record.generationId,
    model: record.model,
    provider: record.providerSlug,
    attempts: record.attempts,
    ...(result.failed.length === 0 ? {} : failureFields(result)),
    input_tokens: record.inputTokens,
    output_tokens: record.outputTokens,
    cost: rubles(result.chargedMicro),
    billing_basis: record.billingBasis,
    finish_reason: record.finishReason,
    status_text: record.status,
    latency_ms: record.durationMs,
    first_token_ms: record.latencyMs,
    ...(result.error === null ? {} : { error_type: result.error.errorType }),
    ...(record.status === 'cancelled' ? { aborted: true } : {}),
  })
  call.log.attempts(
    result.spans.map(({ endpoint: { provider, upstreamModel: model }, startedMs, endedMs, failure }) => ({
      provider: provider.slug,
      model,
      address: provider.baseUrl,
      startedMs,
      endedMs: endedMs ?? startedMs,
      failure,
    })),
    {
      streamed: record.streamed,
      cacheReadTokens: record.cachedTokens,
      cacheWriteTokens: (record.usage.cache_write ?? 0) + (record.usage.cache_write_1h ?? 0),
      reasoningTokens: record.reasoningTokens,
    },
  )
}

function failureFields({ failed, record }: GenerationResult): {
  readonly failed_attempts: string
  readonly provider_said?: string
} {
  const said = (record.failedAttempts ?? []).flatMap(({ provider, status, said: words }) =>
    words === undefined ? [] : [`${provider}${status === null ? '' : ` ${status}`}: ${words}`],
  )
  return { failed_attempts: failuresText(failed), ...(said.length === 0 ? {} : { provider_said: said.join('; ') }) }
}

/**
 * The conversation that a client identifies by other means than `session_id` and `X-Session-Id`; null = none. It keeps
 * a prompt cache warm and is not logged.
 */
function conversationOf(headers: IncomingHttpHeaders, json: unknown): string | null {
  const body = recordOf(json)
  return (
    named(body['prompt_cache_key']) ??
    named(SESSION_HEADERS.map((name) => headers[name]).find((value) => named(value) !== null)) ??
    named(recordOf(body['metadata'])['user_id'])
  )
}

function named(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, CHARACTERS_MAX) : null
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  // Any object can be read by name.
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
