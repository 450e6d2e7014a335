import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { resolutionOf, variantOf } from '../../catalog/picture-price.ts'
import { invalidInput, quoted } from '../../kinds/fields/body-fields.ts'
import type { PricedField, VideoOperation, VideoRequest, VideoWish } from '../../protocols/videos/request.ts'
import type { Usage } from '../../tables/meters.ts'
import { costTheSame, inVariant, isPriced } from '../plan/parameter-costs.ts'
import { checkModalities, checkPrompt, chooseModels, WITH_IMAGES } from '../plan/model-choice.ts'
import type { Plan, PlanInput } from '../plan/plan.ts'
import { planUnits } from '../plan/unit-plan.ts'

export interface VideoPlan extends Plan {
  readonly operation: VideoOperation
}

/** Whether the provider of an endpoint is sent a field; null = it makes no videos. */
export type TellsField = (endpoint: Endpoint, field: PricedField) => boolean

/** Prices a video exactly: its seconds at the price of its resolution, plus the request's price (wire.md D-4.3). */
export function planVideo(
  request: VideoRequest,
  input: PlanInput,
  tellsOf: (endpoint: Endpoint) => TellsField | null,
): VideoPlan {
  const { snapshot, defaultModel, allowedModels } = input
  const [chosen] = chooseModels(
    {
      model: request.model,
      fallbackModels: [],
      defaultModel,
      allowedModels,
      type: 'video',
    },
    snapshot,
  )
  if (chosen === undefined) throw new Error('A request that names a model has chosen one.')
  const operation = operationOf(request.wish, chosen.model)
  const plan = planUnits({
    ...input,
    request,
    type: 'video',
    sent: sentParameters(request.wish),
    check: (model) => checkTold(model, operation, request.wish, tellsOf),
    able: (endpoint) => isTold(chosen.model, endpoint, operation, tellsOf(endpoint)),
    priced: (endpoint) => pricedFor(endpoint, operation),
    worstUsage: () => videoUsage(operation),
    // A video costs exactly what was held.
    mayExceed: () => false,
  })
  return Object.freeze({ ...plan, operation })
}

/**
 * Whether the endpoint makes the video at the price of its row: it is sent the fields that decide the price, or makes
 * such a video by default.
 */
export function isTold(model: Model, endpoint: Endpoint, operation: VideoOperation, tells: TellsField | null): boolean {
  return tells !== null && untoldField(model, endpoint, operation, tells) === null
}

/**
 * The field that decides the price at an endpoint but is not sent to its provider, and differs from what the provider
 * makes by default: the first value of the model's list. null = there is no such field.
 */
function untoldField(
  { supportedDurations, supportedSizes, supportedResolutions }: Model,
  endpoint: Endpoint,
  operation: VideoOperation,
  tells: TellsField,
): PricedField | null {
  const { duration, size, resolution } = operation
  const isBySecond = [endpoint.sell, endpoint.buy].some(({ video_seconds: price }) => price.digits > 0n)
  if (isBySecond && duration !== supportedDurations?.[0] && !tells(endpoint, 'duration')) return 'duration'
  if (endpoint.variants === undefined || (size === null && resolution === null)) return null
  if ((size !== null && tells(endpoint, 'size')) || (resolution !== null && tells(endpoint, 'resolution'))) return null
  const first = { size: supportedSizes?.[0] ?? null, resolution: supportedResolutions?.[0] ?? null }
  const keys = [variantOf(endpoint, first), variantOf(endpoint, operation)] as const
  const isFirst = (first.size ?? first.resolution) !== null && costTheSame(endpoint, keys, 'video_seconds')
  return isFirst ? null : size === null ? 'resolution' : 'size'
}

function checkTold(
  model: Model,
  operation: VideoOperation,
  wish: VideoWish,
  tellsOf: (endpoint: Endpoint) => TellsField | null,
): void {
  const untold = model.endpoints.flatMap((endpoint) => {
    const tells = tellsOf(endpoint)
    return tells === null ? [] : [untoldField(model, endpoint, operation, tells)]
  })
  const [field] = untold
  if (field === undefined || field === null || untold.includes(null)) return
  const isShape = field !== 'duration'
  const [first] =
    field === 'duration' ? (model.supportedDurations ?? []) : (model.supportedSizes ?? model.supportedResolutions ?? [])
  const given = operation[field]
  throw invalidInput(
    isShape && wish.size === null ? 'resolution' : field,
    `${quoted(String(given))} cannot be sent to any provider of model '${model.id}', and the price depends on it. ${first === undefined ? 'Choose another model' : `Allowed: ${first}`}`,
  )
}

export function videoUsage({ duration }: VideoOperation): Usage {
  return { request: 1, video_seconds: duration }
}

/** The endpoint with its prices replaced by those of the video's resolution. */
function pricedFor(endpoint: Endpoint, wish: VideoWish): Endpoint {
  return inVariant(endpoint, variantOf(endpoint, wish))
}

/** A video without a parameter that the endpoint would bill and that nobody pays for. */
export function pricedVideo(operation: VideoOperation, endpoint: Endpoint): VideoOperation {
  return operation.generateAudio === null || isPriced(endpoint, 'generate_audio')
    ? operation
    : { ...operation, generateAudio: null }
}

/**
 * Fills in what the request leaves open with the model's options; throws for values that the model does not allow
 * (wire.md D-4.4).
 */
export function operationOf(wish: VideoWish, model: Model): VideoOperation {
  checkPrompt(wish.prompt, model)
  if (wish.frameImages.length + wish.inputReferences.length > 0) checkModalities(model, WITH_IMAGES)
  const resolution = oneOf('resolution', wish.resolution, model.supportedResolutions)
  const aspectRatio = oneOf('aspect_ratio', wish.aspectRatio, model.supportedAspectRatios)
  const size = sizeOf({ ...wish, resolution, aspectRatio }, model)
  return {
    ...wish,
    size,
    duration: durationOf(wish.duration, model),
    // A size determines both. Without a size, the model's first resolution and ratio are the defaults.
    resolution: resolution ?? (size === null ? (model.supportedResolutions?.[0] ?? null) : null),
    aspectRatio: aspectRatio ?? (size === null ? (model.supportedAspectRatios?.[0] ?? null) : null),
  }
}

function sizeOf(wish: VideoWish, model: Model): string | null {
  const sizes = model.supportedSizes
  if (wish.size !== null || sizes === null) return oneOf('size', wish.size, sizes)
  const { resolution, aspectRatio } = wish
  const fitting = sizes.find(
    (size) =>
      (resolution === null || resolutionOf(size) === resolutionOf(resolution)) &&
      (aspectRatio === null || hasRatio(size, aspectRatio)),
  )
  if (fitting !== undefined) return fitting
  // A model that lists resolutions accepts them in addition to its sizes.
  if (model.supportedResolutions !== null || model.supportedAspectRatios !== null) return null
  throw invalidInput(
    resolution === null ? 'aspect_ratio' : 'resolution',
    `no size of model '${model.id}' is of it. Allowed sizes: ${sizes.join(', ')}`,
  )
}

function durationOf(duration: number | null, { id, supportedDurations }: Model): number {
  const [first] = supportedDurations ?? []
  if (supportedDurations === null || first === undefined) {
    if (duration === null)
      throw invalidInput('duration', `is required for model '${id}': a whole number of seconds from 1 to 60`)
    return duration
  }
  if (duration === null) return first
  if (!supportedDurations.includes(duration))
    throw invalidInput('duration', `must be one of ${supportedDurations.join(', ')}, got ${duration}`)
  return duration
}

function oneOf(name: string, given: string | null, allowed: readonly string[] | null): string | null {
  if (given === null || allowed === null || allowed.length === 0 || allowed.includes(given)) return given
  throw invalidInput(name, `must be one of ${allowed.join(', ')}, got '${quoted(given)}'`)
}

function hasRatio(size: string, ratio: string): boolean {
  const [width = 0, height = 0] = size.split('x').map(Number)
  const [across = 0, down = 0] = ratio.split(':').map(Number)
  return width * down === height * across
}

/** The names as `supported_parameters` spells them. */
function sentParameters(wish: VideoWish): readonly string[] {
  const sent: readonly (readonly [string, boolean])[] = [
    ['size', wish.size !== null],
    ['duration', wish.duration !== null],
    ['resolution', wish.resolution !== null],
    ['aspect_ratio', wish.aspectRatio !== null],
    ['frame_images', wish.frameImages.length > 0],
    ['input_references', wish.inputReferences.length > 0],
    ['generate_audio', wish.generateAudio !== null],
    ['seed', wish.seed !== null],
  ]
  return sent.flatMap(([name, given]) => (given ? [name] : []))
}
