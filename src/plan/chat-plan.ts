import type { Endpoint, Model, Snapshot } from '../catalog/catalog.ts'
import { ApiError } from '../errors.ts'
import type { ChatRequest } from '../kinds/chat-request.ts'
import { assert } from '../lib/assert.ts'
import type { Micro } from '../money.ts'
import { checkContext, contextOf, countedInput, roomFor, type InputMeasure } from './context-check.ts'
import { canCapOutput, type AdapterParameters } from './endpoint-filter.ts'
import { orderEndpoints, type EndpointHealth } from './endpoint-order.ts'
import { insufficientBalance } from './insufficient-balance.ts'
import { checkModalities, chooseModels, type ChosenModel } from './model-choice.ts'
import type { Candidate, Plan } from './plan.ts'
import { inputBound, type TokenCounter } from './token-count.ts'
import { affordableTokens, worstMicro, worstPrice, type WorstPrice } from './worst-price.ts'

/** The shortest answer worth paying an input for (wire.md D-10.2). */
const OUTPUT_TOKENS_MIN = 16
/** A rule of thumb, good enough to compare prices by. */
const BYTES_PER_TOKEN = 4
const NO_ADAPTERS: AdapterParameters = new Map()

export interface PlanRequest {
  readonly request: ChatRequest
  readonly defaultModel: string | null
  readonly allowedModels: ReadonlySet<string> | null
  readonly snapshot: Snapshot
  /** Read just before; only an omitted max_tokens looks at them, everything else is decided by the hold. */
  readonly funds: { readonly availableMicro: Micro; readonly keyRoomMicro: Micro | null }
  readonly health: EndpointHealth
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly tokens: Pick<TokenCounter, 'countChat' | 'isExact'>
  /** Adapter name → what its protocol carries; without it every endpoint that lists no parameters carries all. */
  readonly adapters?: AdapterParameters
  /** Without `/v1/`, for messages. */
  readonly endpointName?: string
}

/** One endpoint with everything its share of the hold is made of. */
interface Draft {
  readonly model: Model
  readonly endpoint: Endpoint
  readonly price: WorstPrice
  /** Its output can be capped by us. */
  readonly capped: boolean
  readonly inputTokens: number
  readonly maxTokens: number
}

/** One model that can serve the request. */
interface Route {
  readonly model: Model
  readonly endpoints: readonly Endpoint[]
  /** The check of the context needed the count. */
  readonly counted: boolean
}

/**
 * Prices a chat request (wire.md 10): who may serve it, in order, with how many output tokens, and the most it may cost.
 * Bytes stand for tokens while every check passes with them, so that a request far from its limits is never tokenised.
 */
export function planChat(input: PlanRequest): Plan {
  const { request, snapshot, tokens } = input
  const measure = measureInput(request, tokens)
  const routes = routesOf(input, measure)
  const drafts = draftsOf(input, routes, measure, false)
  if (request.maxTokens !== null) return planOf(snapshot, request, drafts)
  const { availableMicro, keyRoomMicro } = input.funds
  const funds = keyRoomMicro !== null && keyRoomMicro < availableMicro ? keyRoomMicro : availableMicro
  if (holdOf(drafts, request.n) <= funds) return planOf(snapshot, request, drafts)
  return planOf(snapshot, request, affordable(draftsOf(input, routes, measure, true), request.n, funds))
}

/**
 * The same plan held by the token count, for the moment the hold by bytes was refused; null when the count makes it
 * no cheaper, so that the refusal stands with the plan's own amount.
 */
export function recountedHold(plan: Plan, request: ChatRequest, tokens: Pick<TokenCounter, 'countChat' | 'isExact'>): Plan | null {
  const measure = measureInput(request, tokens)
  const drafts = plan.candidates.map(({ model, endpoint, sendMaxTokens }) => ({
    model,
    endpoint,
    price: worstPrice(endpoint.sell, request),
    capped: sendMaxTokens !== null,
    inputTokens: countedInput(measure, model),
    maxTokens: sendMaxTokens ?? outputMax(model, endpoint),
  }))
  const recounted = planOf(plan.snapshot, request, drafts)
  return recounted.holdMicro < plan.holdMicro ? recounted : null
}

function measureInput(request: ChatRequest, tokens: Pick<TokenCounter, 'countChat' | 'isExact'>): InputMeasure {
  const counts = new Map<string | null, number>()
  return {
    bound: inputBound(request),
    count(model) {
      const known = counts.get(model.tokenizer) ?? tokens.countChat(request, model.tokenizer)
      counts.set(model.tokenizer, known)
      return known
    },
    exact: (model) => tokens.isExact(request, model.tokenizer),
  }
}

/** The models that can serve, in order. A fallback model that cannot is left out; where none can, the first one's refusal is the answer. */
function routesOf(input: PlanRequest, measure: InputMeasure): readonly Route[] {
  const { request, defaultModel, allowedModels, snapshot, endpointName = 'chat/completions' } = input
  const { model, fallbackModels } = request
  const chosen = chooseModels({ model, fallbackModels, defaultModel, allowedModels, modelType: 'chat', endpointName }, snapshot)
  const routes: Route[] = []
  let refusal: ApiError | null = null
  for (const choice of chosen) {
    try {
      routes.push(routeOf(choice, input, measure))
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown
      refusal ??= thrown
    }
  }
  if (routes.length === 0 && refusal !== null) throw refusal
  // An ejected endpoint is no candidate (reliability.md 5) while another model of the request can answer.
  const isOut = ({ endpoints }: Route): boolean => endpoints.every(({ id }) => input.health.ejected(id))
  return routes.length === 1 ? routes : [...routes.filter((route) => !isOut(route)), ...routes.filter(isOut)]
}

function routeOf({ model, sort }: ChosenModel, input: PlanRequest, measure: InputMeasure): Route {
  const { request, health, random, adapters = NO_ADAPTERS } = input
  checkModalities(model, request)
  const asked = request.maxTokens === null || request.maxTokens === -1 ? null : Math.min(request.maxTokens, largestOutput(model))
  const counted = checkContext(model, request.maxTokens, measure) || isTight(model, measure.bound + (asked ?? 1))
  const inputTokens = counted ? measure.count(model) : measure.bound
  const expectedInputTokens = counted ? inputTokens : Math.ceil(inputTokens / BYTES_PER_TOKEN)
  return { model, endpoints: orderEndpoints({ model, request, inputTokens, expectedInputTokens, maxTokens: asked, adapters, sort, health, random }), counted }
}

/** No endpoint is left out as too small for what bytes alone say. */
function isTight(model: Model, tokensBound: number): boolean {
  return model.endpoints.length > 1 && model.endpoints.some((endpoint) => contextOf(model, endpoint) < tokensBound)
}

function largestOutput(model: Model): number {
  return Math.max(...model.endpoints.map((endpoint) => outputMax(model, endpoint)))
}

/** The most the endpoint answers with, whatever is asked. */
function outputMax(model: Model, endpoint: Endpoint): number {
  return endpoint.maxCompletionTokens ?? model.maxCompletionTokens ?? contextOf(model, endpoint)
}

function draftsOf(input: PlanRequest, routes: readonly Route[], measure: InputMeasure, counted: boolean): readonly Draft[] {
  const { request, adapters = NO_ADAPTERS } = input
  return routes.flatMap((route) => route.endpoints.map((endpoint) => draftOf(request, route, endpoint, measure, counted || route.counted, adapters)))
}

function draftOf(request: ChatRequest, { model }: Route, endpoint: Endpoint, measure: InputMeasure, counted: boolean, adapters: AdapterParameters): Draft {
  const capped = canCapOutput(endpoint, adapters)
  const most = outputMax(model, endpoint)
  const room = request.maxTokens === null || request.maxTokens === -1 ? roomFor(contextOf(model, endpoint), most, model, measure, counted) : null
  const asked = room === null ? { tokens: request.maxTokens ?? most, counted } : room
  return {
    model,
    endpoint,
    price: worstPrice(endpoint.sell, request),
    capped,
    inputTokens: asked.counted ? countedInput(measure, model) : measure.bound,
    maxTokens: capped ? Math.min(asked.tokens, most) : most,
  }
}

function holdOf(drafts: readonly Draft[], n: number): Micro {
  return drafts.reduce((dearest, { price, inputTokens, maxTokens }) => {
    const cost = worstMicro(price, inputTokens, maxTokens, n)
    return cost > dearest ? cost : dearest
  }, 0n)
}

/** Lowers the output of every draft to what the funds allow at the dearest of them, or refuses where that is no answer at all. */
function affordable(drafts: readonly Draft[], n: number, funds: Micro): readonly Draft[] {
  const tokens = Math.min(...drafts.map(({ price, inputTokens }) => affordableTokens(price, inputTokens, n, funds)))
  const smallest = drafts.map((draft) => ({ ...draft, maxTokens: draft.capped ? Math.min(draft.maxTokens, OUTPUT_TOKENS_MIN) : draft.maxTokens }))
  const required = holdOf(smallest, n)
  if (required > funds) throw insufficientBalance(required, funds, { tokens: true })
  return drafts.map((draft) => (draft.capped ? { ...draft, maxTokens: Math.min(draft.maxTokens, tokens) } : draft))
}

function planOf(snapshot: Snapshot, request: ChatRequest, drafts: readonly Draft[]): Plan {
  assert(drafts.length > 0, 'A plan has at least one candidate.')
  return Object.freeze({
    snapshot,
    candidates: drafts.map(({ model, endpoint, capped, maxTokens }): Candidate => ({ model, endpoint, sendMaxTokens: capped ? maxTokens : null })),
    holdMicro: holdOf(drafts, request.n),
    maxTokens: Math.max(...drafts.map(({ maxTokens }) => maxTokens)),
    maxTokensComputed: request.maxTokens === null || request.maxTokens === -1,
    inputTokensBound: Math.max(...drafts.map(({ inputTokens }) => inputTokens)),
  })
}
