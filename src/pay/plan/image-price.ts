import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { namesQuality, pictureVariant } from '../../catalog/picture-price.ts'
import type { ImageRequest } from '../../kinds/images/request.ts'
import { costTheSame } from './parameter-costs.ts'

/**
 * The request without options that would raise the provider's bill and that nobody pays for. Size and quality are
 * priced where tokens pay for the picture, where the price is by size and quality, and where the row lists them: then
 * one price is meant for all.
 */
export function pricedImage(request: ImageRequest, model: Model, endpoint: Endpoint): ImageRequest {
  const { priced, supportedParameters: listed, variants } = endpoint
  if (priced.has('completion')) return request
  const quality = request.parameters['quality']
  const keepsQuality =
    quality === undefined || listed?.includes('quality') === true || namesQuality(endpoint, String(quality))
  const isShaped =
    request.size !== null || request.imageSize !== null || (request.aspectRatio !== null && saysRatioAsSize(endpoint))
  const keepsShape =
    !isShaped ||
    variants !== undefined ||
    model.supportedSizes !== null ||
    listed?.some((name) => name === 'size' || name === 'image_size' || name === 'aspect_ratio') === true
  // Higher fidelity means more tokens of source images, and here tokens have no price.
  const keepsFidelity =
    request.parameters['input_fidelity'] === undefined || listed?.includes('input_fidelity') === true
  if (keepsQuality && keepsShape && keepsFidelity) return request
  const { quality: kept, input_fidelity: fidelity, ...rest } = request.parameters
  const parameters = {
    ...rest,
    ...(keepsQuality && kept !== undefined ? { quality: kept } : {}),
    ...(keepsFidelity && fidelity !== undefined ? { input_fidelity: fidelity } : {}),
  }
  return {
    ...request,
    parameters,
    ...(keepsShape ? {} : { size: null, imageSize: null, ...(saysRatioAsSize(endpoint) ? { aspectRatio: null } : {}) }),
  }
}

/** Whether the quality that the request names has another price than none. */
export function pricesQuality({ size, imageSize, aspectRatio, parameters }: ImageRequest, endpoint: Endpoint): boolean {
  const { quality } = parameters
  if (quality === undefined) return false
  const wish = { size: size ?? imageSize ?? aspectRatio, quality: null }
  const keys = [
    pictureVariant(endpoint, { ...wish, quality: String(quality) }),
    pictureVariant(endpoint, wish),
  ] as const
  return !costTheSame(endpoint, keys, 'image_output')
}

/** OpenAI's protocol has no field for a ratio: a ratio is sent as a size, and sizes differ in price. */
function saysRatioAsSize({ provider }: Endpoint): boolean {
  return (
    provider.adapter === 'openai' &&
    provider.dialect.images !== 'words' &&
    !/^https:\/\/([\w-]+\.)*x\.ai(\/|$)/.test(provider.baseUrl)
  )
}

/** The endpoint with its prices replaced by those of the picture's size and quality. */
export function pricedForImage(request: ImageRequest, model: Model, endpoint: Endpoint): Endpoint {
  if (endpoint.variants === undefined) return endpoint
  const { size, imageSize, aspectRatio, parameters } = pricedImage(request, model, endpoint)
  const quality = parameters['quality']
  const variant = pictureVariant(endpoint, {
    size: size ?? imageSize ?? aspectRatio,
    quality: quality === undefined ? null : String(quality),
  })
  const prices = variant === null ? undefined : endpoint.variants.get(variant)
  return prices === undefined || variant === null ? endpoint : { ...endpoint, ...prices, variant }
}
