import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { priceAt } from '../../catalog/price-conditions.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { assert } from '../../base/assert.ts'
import type { PriceSheet } from '../../tables/meters.ts'
import type { RequestType } from '../../tables/model-types.ts'
import type { Decimal, Micro } from '../../base/money.ts'
import { answerMax, checkContext, contextOf, roomFor, type InputMeasure } from './context-check.ts'
import { canCapOutput, orderEndpoints } from './endpoint-order.ts'
import {
  type HostedTools,
  InputHold,
  type WorstPrice,
  affordableTokens,
  expectedChatCost,
  worstMicro,
  worstPrice,
} from './worst-price.ts'
import { InsufficientBalanceError, type Candidate, type Plan, type PlanInput, servingRoutes } from './plan.ts'
import { checkModalities, chooseModels, type ChosenModel } from './model-choice.ts'
import { tierAsked, tierMet, tiersServed, tierWished } from './parameter-costs.ts'
import { inputBound } from './token-count.ts'

/** Labels and hints that do not change the answer: no provider is excluded because it lacks them. */
const LABELS = [
  'user',
  'metadata',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'include_reasoning',
  'modalities',
]

/** Names of the parameters that the client sent, as `supportedParameters` spells them. */
export function sentParameters(request: ChatRequest): readonly string[] {
  const names = Object.keys(request.parameters).filter((name) => !LABELS.includes(name))
  if (request.maxTokens !== null && request.maxTokens !== -1) names.push('max_tokens')
  if (request.tools !== null) names.push('tools')
  if (request.toolChoice !== null) names.push('tool_choice')
  if (request.responseFormat !== null) names.push('response_format')
  return names
}

/** The shortest answer for which it is worth paying for an input (wire.md D-10.2). */
const OUTPUT_TOKENS_MIN = 16
/** A rough ratio, good enough to compare prices. */
const BYTES_PER_TOKEN = 4
export interface PlanRequest extends PlanInput {
  readonly request: ChatRequest
  /** Absent = chat. */
  readonly type?: RequestType
  /** Whether an endpoint can serve the request; absent = every endpoint can. */
  readonly able?: (endpoint: Endpoint) => boolean
  /** The number of inputs of this size that are answered together, each at its own cost; absent = one. */
  readonly inputs?: number
  /** The number of answers that the provider writes, and bills, for each input; absent = the requested number. */
  readonly written?: number
  /** Tools that the provider runs; absent = none. */
  readonly hosted?: HostedTools | null
}

/** One endpoint with everything on which its part of the hold depends. */
interface Draft {
  readonly model: Model
  readonly endpoint: Endpoint
  readonly price: WorstPrice
  /** Whether we can cap its output. */
  readonly capped: boolean
  readonly inputTokens: number
  readonly maxTokens: number
}

/** One model that can serve the request. */
interface Route {
  readonly model: Model
  readonly endpoints: readonly Endpoint[]
  /** Whether the context check needed the count. */
  readonly counted: boolean
}

/**
 * Prices a chat request (wire.md 10): which endpoints may serve it, in order, with how many output tokens, and the most
 * that it may cost. Byte counts replace token counts while every check passes with them, so that a request far from its
 * limits is never tokenised.
 */
export function planChat(input: PlanRequest): Plan {
  const { request, tokens } = input
  const measure = measureInput(request, tokens)
  const hold = new InputHold(request, tokens, input.hosted ?? null)
  const routes = routesOf(input, measure)
  const drafts = draftsOf(input, routes, measure, hold, false)
  const answers = (input.written ?? request.n) * (input.inputs ?? 1)
  if (request.maxTokens !== null) return planOf(input, request, drafts, hold, answers)
  const { availableMicro, keyRoomMicro } = input.funds
  const funds = keyRoomMicro !== null && keyRoomMicro < availableMicro ? keyRoomMicro : availableMicro
  if (holdOf(drafts, answers) <= funds) return planOf(input, request, drafts, hold, answers)
  return planOf(
    input,
    request,
    affordable(draftsOf(input, routes, measure, hold, true), hold, answers, funds),
    hold,
    answers,
  )
}

/**
 * The same plan with a hold by token count, made after the hold by bytes was refused. null = the count makes it no
 * cheaper, so the refusal has the plan's own amount.
 */
export function recountedHold(
  plan: Plan,
  request: ChatRequest,
  tokens: PlanInput['tokens'],
  { inputs = 1, written = request.n, hosted = null }: Pick<PlanRequest, 'inputs' | 'written' | 'hosted'> = {},
): Plan | null {
  const hold = new InputHold(request, tokens, hosted)
  const asked = { request, inputs, hosted, atMs: plan.atMs }
  const drafts = plan.candidates.map(({ model, endpoint, sendMaxTokens }) => ({
    model,
    endpoint,
    ...worstInput(asked, model, endpoint, hold, true),
    capped: sendMaxTokens !== null,
    maxTokens: sendMaxTokens ?? answerMax(model, endpoint),
  }))
  const recounted = planOf(plan, request, drafts, hold, written * inputs)
  return recounted.holdMicro < plan.holdMicro ? recounted : null
}

function measureInput(request: ChatRequest, tokens: PlanInput['tokens']): InputMeasure {
  const counts = new Map<string | null, number>()
  return {
    bound: inputBound(request),
    count(model) {
      const known = counts.get(model.tokenizer) ?? tokens.countChat(request, model.tokenizer)
      counts.set(model.tokenizer, known)
      return known
    },
  }
}

function routesOf(input: PlanRequest, measure: InputMeasure): readonly Route[] {
  const { request, defaultModel, allowedModels, snapshot, health, type = 'chat' } = input
  const { model, fallbackModels } = request
  const chosen = chooseModels({ model, fallbackModels, defaultModel, allowedModels, type }, snapshot)
  return servingRoutes(chosen, health, (choice) => routeOf(choice, input, measure))
}

function routeOf({ model, sort }: ChosenModel, input: PlanRequest, measure: InputMeasure): Route {
  const { request, health, random, affinity = null, adapters, able = () => true, hosted = null } = input
  checkModalities(model, request)
  const asked =
    request.maxTokens === null || request.maxTokens === -1 ? null : Math.min(request.maxTokens, largestOutput(model))
  const counted = checkContext(model, request.maxTokens, measure) || isTight(model, measure.bound + (asked ?? 1))
  const inputTokens = counted ? measure.count(model) : measure.bound
  const expectedTokens = counted ? inputTokens : Math.ceil(inputTokens / BYTES_PER_TOKEN)
  // A typical number of units in such answers.
  const units = {
    ...(model.outputModalities.includes('image') ? { image_output: 1 } : {}),
    ...(hosted === null ? {} : { search: 1 }),
  }
  const expectedCost = (endpoint: Endpoint): Decimal =>
    expectedChatCost(endpoint, request, expectedTokens, asked, input.atMs, units)
  const met = (endpoint: Endpoint): PriceSheet => {
    const served = { atMs: input.atMs, serviceTier: tierMet(request, endpoint) }
    const sheetOf = (tokens: number): PriceSheet => priceAt(endpoint, 'sell', { input: tokens }, served).sheet
    const most = sheetOf(inputTokens)
    return most === sheetOf(0) ? most : sheetOf(measure.count(model))
  }
  const wish = {
    model,
    request,
    met,
    sent: sentParameters(request),
    able,
    inputTokens,
    expectedCost,
    maxTokens: asked,
    adapters,
    calls: 'chat' as const,
    sort,
    health,
    random,
    affinity,
    // Prefers endpoints at which the requested tier has a price.
    ...(tierWished(request) === null ? {} : { prefers: (endpoint: Endpoint) => tierAsked(request, endpoint) !== null }),
  }
  return { model, endpoints: orderEndpoints(wish), counted }
}

/** Whether some endpoint is too small by the bytes: only a count of tokens may exclude it. */
function isTight(model: Model, tokensBound: number): boolean {
  return model.endpoints.length > 1 && model.endpoints.some((endpoint) => contextOf(model, endpoint) < tokensBound)
}

function largestOutput(model: Model): number {
  return Math.max(...model.endpoints.map((endpoint) => answerMax(model, endpoint)))
}

function draftsOf(
  input: PlanRequest,
  routes: readonly Route[],
  measure: InputMeasure,
  hold: InputHold,
  counted: boolean,
): readonly Draft[] {
  return routes.flatMap((route) =>
    route.endpoints.map((endpoint) => draftOf(input, route, endpoint, measure, hold, counted || route.counted)),
  )
}

function draftOf(
  asking: PlanRequest,
  { model }: Route,
  endpoint: Endpoint,
  measure: InputMeasure,
  hold: InputHold,
  counted: boolean,
): Draft {
  const { request, adapters } = asking
  const capped = canCapOutput(endpoint, { adapters, calls: 'chat' })
  const most = answerMax(model, endpoint)
  const room =
    request.maxTokens === null || request.maxTokens === -1
      ? roomFor(contextOf(model, endpoint), most, model, measure, counted)
      : null
  const asked = room === null ? { tokens: request.maxTokens ?? most, counted } : room
  return {
    model,
    endpoint,
    ...worstInput(asking, model, endpoint, hold, asked.counted),
    capped,
    maxTokens: capped ? Math.min(asked.tokens, most) : most,
  }
}

/**
 * The input tokens that a hold covers at an endpoint, and the dearest prices that a request with so many tokens can
 * meet there.
 */
function worstInput(
  { request, atMs, inputs = 1, hosted = null }: Pick<PlanRequest, 'request' | 'atMs' | 'inputs' | 'hosted'>,
  model: Model,
  endpoint: Endpoint,
  hold: InputHold,
  counted: boolean,
): Pick<Draft, 'price' | 'inputTokens'> {
  const inputTokens = hold.tokens(model, endpoint, counted)
  const reach = {
    atMs,
    inputTokens: hold.reach(model, endpoint, inputTokens, inputs),
    serviceTiers: tiersServed(request, endpoint),
  }
  return { inputTokens, price: worstPrice(model, endpoint, request, reach, hosted) }
}

function holdOf(drafts: readonly Draft[], answers: number): Micro {
  return drafts.reduce((dearest, { price, inputTokens, maxTokens }) => {
    const cost = worstMicro(price, inputTokens, maxTokens, answers)
    return cost > dearest ? cost : dearest
  }, 0n)
}

/**
 * Lowers the output of every draft to what the funds allow at the dearest of them; throws if nothing useful is left.
 */
function affordable(drafts: readonly Draft[], hold: InputHold, answers: number, funds: Micro): readonly Draft[] {
  const tokens = Math.min(
    ...drafts.map(({ price, inputTokens }) => affordableTokens(price, inputTokens, answers, funds)),
  )
  const smallest = drafts.map((draft) => ({
    ...draft,
    maxTokens: draft.capped ? Math.min(draft.maxTokens, OUTPUT_TOKENS_MIN) : draft.maxTokens,
  }))
  const required = holdOf(smallest, answers)
  if (required > funds)
    throw new InsufficientBalanceError(required, funds, { tokens: true, reason: hold.reason(drafts) })
  return drafts.map((draft) => (draft.capped ? { ...draft, maxTokens: Math.min(draft.maxTokens, tokens) } : draft))
}

function planOf(
  { snapshot, atMs }: Pick<PlanInput, 'snapshot' | 'atMs'>,
  request: ChatRequest,
  drafts: readonly Draft[],
  hold: InputHold,
  answers: number,
): Plan {
  assert(drafts.length > 0, 'A plan has at least one candidate.')
  return Object.freeze({
    snapshot,
    atMs,
    candidates: drafts.map(({ model, endpoint, capped, maxTokens }): Candidate => ({
      model,
      endpoint,
      sendMaxTokens: capped ? maxTokens : null,
    })),
    holdMicro: holdOf(drafts, answers),
    maxTokens: Math.max(...drafts.map(({ maxTokens }) => maxTokens)),
    maxTokensComputed: request.maxTokens === null || request.maxTokens === -1,
    mayExceed: hold.mayExceed(drafts),
    inputTokensBound: Math.max(...drafts.map(({ inputTokens }) => inputTokens)),
    holdReason: hold.reason(drafts),
  })
}
