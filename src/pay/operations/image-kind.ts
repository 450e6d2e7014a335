import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { ApiError } from '../../base/errors.ts'
import {
  imageEvents,
  imagesBody,
  type DeliveredImage,
  type ImageResult,
  type ImageRequest,
} from '../../kinds/images/request.ts'
import type { Picture } from '../../kinds/images/bytes.ts'
import { invalidInput, quoted } from '../../kinds/fields/body-fields.ts'
import { base64Json, JSON_TYPE, jsonParts, type JsonBytes } from '../../base/json-text.ts'
import {
  pricedForImage,
  pricedImage,
  pricesQuality,
  mayExceedImageHold,
  measuredImageUsage,
  worstImageUsage,
} from '../plan/image-usage.ts'
import { checkModalities, checkPrompt, WITH_IMAGES } from '../plan/model-choice.ts'
import type { Adapter, AdapterTable } from '../../protocols/ports/adapter.ts'
import type { ImageCall, ResultSink, RunningCall } from '../../protocols/ports/call.ts'
import type { AttemptStart } from '../relay/operation.ts'
import type { UnitKind } from './unit.ts'

/**
 * Stores pictures for a client that asked for addresses; returns the address of each. Throws an ApiError if it cannot.
 */
export type KeepPictures = (accountId: string, pictures: readonly Picture[]) => Promise<readonly string[]>

/** The pictures; from `prepare` on in the form for the client. */
interface PreparedImages extends ImageResult {
  readonly delivered?: readonly DeliveredImage[]
}

/** Pictures (wire.md 2.3), from image models and from chat models that answer with pictures. */
export function imageKind(adapters: AdapterTable, keep: KeepPictures): UnitKind<ImageRequest, PreparedImages> {
  return {
    type: 'image',
    sent: (request) => sentParameters(request),
    check: (request, model) => {
      checkModel(request, model)
      checkTask(request, model, adapters)
    },
    able: (request, endpoint) =>
      draws(adapters, endpoint) && does(adapters, request, endpoint) && isTold(adapters, request, endpoint),
    worstUsage: worstImageUsage,
    mayExceed: mayExceedImageHold,
    priced: pricedForImage,
    ask: (adapter, call, sink, start) =>
      ask(
        adapter,
        {
          ...call,
          request: pricedImage(call.request, start.candidate.model, call.endpoint),
          sizes: start.candidate.model.supportedSizes,
          fetchesUrls: start.plan.snapshot.settings.fetchUrls,
        },
        sink,
        start,
      ),
    isEmpty: ({ images }) => images.length === 0,
    measured: (request, result, { candidate: { model, endpoint }, tokens }) =>
      measuredImageUsage(request, result, model, endpoint, tokens),
    prepare: async ({ responseFormat }, result, { accountId }) => {
      const pictures = result.images.map(({ picture }) => picture)
      const delivered =
        responseFormat === 'url' ? (await keep(accountId, pictures)).map((url) => ({ url })) : await spelled(pictures)
      return { ...result, delivered }
    },
    body: (_request, result, identity, usage) => {
      const { delivered = [] } = result
      return {
        body: jsonParts(imagesBody(result, delivered, identity, usage), liftedOf(delivered)),
        contentType: JSON_TYPE,
      }
    },
    streams: ({ stream }) => stream,
    events: (request, result, identity, usage) => imageEvents(request, result, result.delivered ?? [], identity, usage),
  }
}

/** The pictures in base64, made one after another: all of them in one turn would delay all other work. */
async function spelled(pictures: readonly Picture[]): Promise<readonly DeliveredImage[]> {
  const images: DeliveredImage[] = []
  for (const { bytes } of pictures) images.push({ b64_json: await base64Json(bytes) })
  return images
}

function liftedOf(delivered: readonly DeliveredImage[]): readonly JsonBytes[] {
  return delivered.flatMap((image) => ('b64_json' in image ? [image.b64_json] : []))
}

function draws(adapters: AdapterTable, { provider }: Endpoint): boolean {
  const adapter = adapters.get(provider.adapter)
  return adapter?.images !== undefined || adapter?.chatImages !== undefined
}

/** Whether an endpoint makes variations or accepts a mask, if the request needs that. */
function does(adapters: AdapterTable, { task, mask }: ImageRequest, endpoint: Endpoint): boolean {
  const edits = adapters.get(endpoint.provider.adapter)?.imageEdits
  return (
    (task !== 'variation' || edits?.varies(endpoint) === true) && (mask === null || edits?.masks(endpoint) === true)
  )
}

/**
 * Whether the provider gets the quality if the price depends on it; otherwise the endpoint serves only requests without
 * one.
 */
function isTold(adapters: AdapterTable, request: ImageRequest, endpoint: Endpoint, inChat = false): boolean {
  if (!pricesQuality(request, endpoint)) return true
  // A chat has no parameter for the quality.
  if (inChat) return false
  const adapter = adapters.get(endpoint.provider.adapter)
  const listed = endpoint.supportedParameters ?? adapter?.parameters.image ?? []
  return adapter?.imageEdits?.tellsQuality?.(endpoint) ?? listed.includes('quality')
}

/** A model that no provider can draw with cannot be sold; it gets the same message as any such model. */
function checkTask(request: ImageRequest, model: Model, adapters: AdapterTable): void {
  const drawing = model.endpoints.filter((endpoint) => draws(adapters, endpoint))
  if (drawing.length > 0 && !drawing.some((endpoint) => isTold(adapters, request, endpoint, drawsInChat(model))))
    throw invalidInput(
      'quality',
      `'${quoted(String(request.parameters['quality']))}' cannot be sent to any provider of model '${model.id}', and the price depends on it. Leave it out`,
    )
  if (request.task !== 'variation' && request.mask === null) return
  const isAble = !drawsInChat(model) && drawing.some((endpoint) => does(adapters, request, endpoint))
  if (drawing.length === 0 || isAble) return
  if (request.task === 'variation')
    throw new ApiError(
      'model_not_supported',
      `Model '${model.id}' does not support images/variations. Supported: images/generations, images/edits`,
    )
  throw invalidInput('mask', `no provider of model '${model.id}' takes a mask. Allowed: an edit without one`)
}

/** Whether a chat model answers with pictures. */
function drawsInChat({ type, outputModalities }: Model): boolean {
  return type === 'chat' && outputModalities.includes('image')
}

function ask(
  adapter: Adapter,
  call: ImageCall,
  sink: ResultSink<ImageResult>,
  { candidate }: AttemptStart,
): RunningCall {
  const { images, chatImages } = adapter
  const draw = drawsInChat(candidate.model) ? (chatImages ?? images) : (images ?? chatImages)
  if (draw === undefined)
    throw new Error(`Adapter '${adapter.name}' has no images: the plan lets only those through that have.`)
  return draw(call, sink)
}

function sentParameters({ count, size, aspectRatio, imageSize, sources, parameters }: ImageRequest): readonly string[] {
  const given = {
    n: count > 1,
    size: size !== null,
    aspect_ratio: aspectRatio !== null,
    image_size: imageSize !== null,
    image: sources.length > 0,
  }
  return [
    ...Object.entries(given).flatMap(([name, isGiven]) => (isGiven ? [name] : [])),
    ...Object.keys(parameters).filter((name) => name !== 'user'),
  ]
}

function checkModel({ prompt, size, sources }: ImageRequest, model: Model): void {
  checkPrompt(prompt, model)
  if (size !== null && model.supportedSizes !== null && !model.supportedSizes.includes(size))
    throw invalidInput('size', `must be one of ${model.supportedSizes.join(', ')}`)
  if (sources.length > 0 && model.type === 'chat') checkModalities(model, WITH_IMAGES)
}
