import type { Endpoint, Model } from '../catalog/catalog.ts'
import { namesQuality, pictureVariant } from '../catalog/picture-price.ts'
import type { ImageRequest } from '../kinds/image-request.ts'

/**
 * The request without what would change the provider's bill and nobody pays for. Size and quality have a price where
 * tokens pay for the picture, where the price is by size and quality, and where the row lists them: then one price is
 * meant for all.
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
  if (keepsQuality && keepsShape) return request
  const { quality: _unpriced, ...parameters } = request.parameters
  return {
    ...request,
    ...(keepsQuality ? {} : { parameters }),
    ...(keepsShape ? {} : { size: null, imageSize: null, ...(saysRatioAsSize(endpoint) ? { aspectRatio: null } : {}) }),
  }
}

/** OpenAI's own form has no word for a ratio: it is asked for as a size, and sizes differ in price. */
function saysRatioAsSize({ provider }: Endpoint): boolean {
  return (
    provider.adapter === 'openai' &&
    provider.dialect.images !== 'words' &&
    !/^https:\/\/([\w-]+\.)*x\.ai(\/|$)/.test(provider.baseUrl)
  )
}

/** The endpoint with the prices of the picture's size and quality for its own. */
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
