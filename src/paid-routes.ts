import type { ServerResponse } from 'node:http'
import { appIdentity } from './access/app-identity.ts'
import type { Principal } from './access/principal.ts'
import { HIJACKED, type Call, type Reply, type Route } from './http/edge.ts'
import { parseMultipart } from './http/multipart.ts'
import { publicAddress } from './http/public-address.ts'
import type { SseStreams } from './http/sse.ts'
import type { IdempotentCalls } from './idempotency/idempotent-calls.ts'
import { keptResponse } from './kinds/responses/kept-response.ts'
import { rubles } from './money.ts'
import type { RemoteStreams } from './nodes/remote-streams.ts'
import type { PaidKind } from './orders/paid-kind.ts'
import { isResponsesOrder } from './orders/responses-order.ts'
import { failuresText } from './relay/attempt-error.ts'
import type { Generation } from './relay/generation.ts'
import type { GenerationResult } from './relay/generation-input.ts'
import type { CallClaim, Order } from './relay/order.ts'
import { providerWords } from './relay/provider-words.ts'
import type { Reader } from './relay/reader.ts'
import type { Relay } from './relay/relay.ts'

export interface PaidRoutePorts {
  readonly relay: Relay
  readonly sse: SseStreams
  readonly idempotency: IdempotentCalls
  /** null = from the request's Host. */
  readonly publicUrl: string | null
}

/** A Response that can be asked for again. */
export interface FoundResponse {
  /** Stops it, unless it has ended; what was delivered is charged. */
  cancel(): Promise<void>
  /** As it stands. */
  body(): Promise<Record<string, unknown>>
}

/** The routes of every paid kind: the edge's call in, the relay's generation out. */
export function paidRoutes(ports: PaidRoutePorts, kinds: readonly PaidKind[]): readonly Route<Principal>[] {
  return kinds.flatMap((kind) =>
    kind.paths.map((path): Route<Principal> => ({
      method: 'POST',
      path,
      plane: 'key',
      body: kind.body,
      priority: 'paid',
      handle: (call) => paid(ports, kind, call),
    })),
  )
}

function paid(ports: PaidRoutePorts, kind: PaidKind, call: Call<Principal>): Promise<Reply | typeof HIJACKED> {
  const order = orderOf(ports, kind, call)
  return ports.idempotency.once(call, (claim) => answer(ports, call, order, claim))
}

/**
 * The same routes for a console session that acts for one of its keys: no second way to spend money, only another way
 * to say who does.
 */
export function playgroundRoutes(routes: readonly Route<Principal>[]): readonly Route<Principal>[] {
  return routes
    .filter(({ plane }) => plane === 'key')
    .map((route) => ({ ...route, path: route.path.replace(/^\/v1\//, '/cabinet/v1/playground/'), plane: 'playground' }))
}

function orderOf(
  { publicUrl }: PaidRoutePorts,
  kind: PaidKind,
  { json, rawBody = Buffer.alloc(0), request, isSecure }: Call<Principal>,
): Order {
  const session = request.headers['x-session-id']
  const sessionId = typeof session === 'string' && /^[\x21-\x7e]{1,256}$/.test(session) ? session : null
  const contentType = request.headers['content-type'] ?? ''
  const form = json === undefined ? parseMultipart(contentType, rawBody) : null
  return kind.read({
    json,
    rawBody,
    contentType,
    form,
    sessionId,
    publicUrl: publicAddress(publicUrl, { request, isSecure }),
  })
}

/** Resumes a stream for a second connection (wire.md D-7.8); answers false when it is not there. */
export function attachStream(ports: PaidRoutePorts, call: Call<Principal>, id: string, after: number): boolean {
  const generation = call.principal === null ? null : ports.relay.streams.resumable(call.principal.accountId, id)
  if (generation === null) return false
  const reader = openReader(ports, call, generation)
  if (reader !== null) generation.attach(reader, after)
  void generation.done.then(() => call.log.finish(200))
  return true
}

/** The Response of a stream that runs, or is still kept (wire.md D-7.8); null when it is not there. */
export function findResponse(
  { relay }: Pick<PaidRoutePorts, 'relay'>,
  accountId: string,
  id: string,
): FoundResponse | null {
  const generation = relay.streams.find(accountId, id)
  if (generation === null || !isResponsesOrder(generation.input.order)) return null
  const { generationId, arrivedAtMs, plan, order, buffer } = generation.input
  const identity = {
    id: generationId,
    created: Math.floor(arrivedAtMs / 1_000),
    model: plan.candidates[0]?.model.id ?? '',
    provider: '',
  }
  const { echo } = order
  return {
    cancel: async () => {
      await generation.cancel()
    },
    body: async () =>
      keptResponse(identity, echo, {
        lastEvent: buffer?.last ?? null,
        ended: generation.finished ? await generation.done : generation.cancelled ? { error: null } : null,
      }),
  }
}

/**
 * As `attachStream`, for a stream that runs on another node; `after` is the number of the last event that the client
 * has.
 */
export async function attachRemote(
  { sse }: Pick<PaidRoutePorts, 'sse'>,
  remote: RemoteStreams,
  call: Call<Principal>,
  id: string,
  after: number,
): Promise<boolean> {
  const accountId = call.principal?.accountId ?? ''
  const generationId = await remote.find(accountId, id)
  if (generationId === null || call.response.destroyed) return false
  let left = (): void => undefined
  let ready = (): void => undefined
  const reader = sse.open(
    call.response,
    { ...call.baseHeaders, 'x-generation-id': generationId },
    { onDrain: () => ready(), onClose: () => left() },
  )
  void remote
    .send(accountId, generationId, after, {
      reader,
      onClose: (run) => {
        left = run
      },
      onDrain: (run) => {
        ready = run
      },
    })
    .then(() => call.log.finish(200))
  return true
}

async function answer(
  ports: PaidRoutePorts,
  call: Call<Principal>,
  order: Order,
  claim: CallClaim | null,
): Promise<Reply | typeof HIJACKED> {
  const { principal, response } = call
  if (principal === null) throw new Error('A paid route has a principal.')
  const { appUrl, appTitle } = appIdentity(call.request.headers)
  const reader: { current: Reader | null } = { current: null }
  const slot: { generation: Generation | null } = { generation: null }
  const generation = await ports.relay.admit({
    principal,
    order,
    requestId: call.requestId,
    requestIdGiven: call.request.headers['x-request-id'] === call.requestId,
    startedMs: call.startedMs,
    arrivedAtMs: call.arrivedAtMs,
    appUrl,
    appTitle,
    claim,
    open: () => {
      reader.current = slot.generation === null ? null : openReader(ports, call, slot.generation)
      return reader.current
    },
  })
  slot.generation = generation
  const graceSeconds = generation.input.plan.snapshot.settings.streamResume.grace
  // Until the stream is opened its own events do not watch the socket.
  response.once('close', () => {
    if (reader.current === null && !response.writableFinished) generation.detached(null, graceSeconds)
  })
  // Who left before anything was sent pays nothing (reliability.md 3.5 rule 2), whatever the provider would bill.
  if (response.destroyed && generation.input.buffer === null) void generation.cancel() // ends with `done`, as below
  else generation.start()
  if (response.destroyed) generation.detached(null, graceSeconds)
  const result = await generation.done
  logResult(call, result)
  if (response.headersSent) {
    call.log.finish(200)
    return HIJACKED
  }
  if (result.error === null && result.body === null) {
    // Cancelled before a first byte: there is no answer, and no clean end may look like one.
    call.log.finish(200)
    response.socket?.resetAndDestroy()
    return HIJACKED
  }
  return replyOf(generation, result)
}

function replyOf(generation: Generation, result: GenerationResult): Reply {
  const headers = ownHeaders(generation)
  const { error } = result
  if (error !== null) throw error.withHeaders(headers)
  return { status: 200, body: undefined, ...result.body, headers }
}

function ownHeaders(generation: Generation): Record<string, string> {
  const { generationId, plan } = generation.input
  return {
    'x-generation-id': generationId,
    ...(plan.maxTokensComputed ? { 'x-max-tokens': String(plan.maxTokens) } : {}),
  }
}

/** Commits the response to an event stream; null when the client has already left. */
function openReader(ports: PaidRoutePorts, call: Call<Principal>, generation: Generation): Reader | null {
  const response: ServerResponse = call.response
  if (response.destroyed) return null
  const stream = ports.sse.open(
    response,
    { ...call.baseHeaders, ...ownHeaders(generation) },
    {
      onDrain: () => generation.drained(stream),
      onClose: () => generation.detached(stream, generation.input.plan.snapshot.settings.streamResume.grace),
    },
    generation.input.order.contentType ?? undefined,
  )
  return stream
}

function failureFields(
  failed: GenerationResult['failed'],
  sent: unknown,
): { readonly failed_attempts: string; readonly provider_said?: string } {
  const said = providerWords(failed, sent)
  return { failed_attempts: failuresText(failed), ...(said === '' ? {} : { provider_said: said }) }
}

function logResult(call: Call<Principal>, result: GenerationResult): void {
  const { record } = result
  call.log.set({
    generation_id: record.generationId,
    model: record.model,
    provider: record.providerSlug,
    attempts: record.attempts,
    ...(result.failed.length === 0 ? {} : failureFields(result.failed, call.json)),
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
    result.passages.map(({ endpoint: { provider, upstreamModel: model }, startedMs, endedMs, failure }) => ({
      provider: provider.slug,
      model,
      address: provider.baseUrl,
      startedMs,
      endedMs: endedMs ?? startedMs,
      failure,
    })),
  )
}
