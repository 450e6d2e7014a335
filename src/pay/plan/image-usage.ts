import type { Endpoint, Model } from '../../catalog/catalog.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { ImageResult, ImageRequest } from '../../kinds/images/request.ts'
import { METER_TABLE, type Meter } from '../../tables/meter-table.ts'
import { INPUT_METERS, OUTPUT_METERS, type PriceSheet, type Usage } from '../../tables/meters.ts'
import { compare } from '../../base/money.ts'
import type { TokenCounter } from './token-count.ts'
import { answerMax, contextOf, documentedMax } from './context-check.ts'
import { countedReport, measureUsage, withUnits, type MeasuredTokens } from './usage-bounds.ts'
import { namesQuality, pictureVariant } from '../../catalog/picture-price.ts'
import { costTheSame, inVariant } from './parameter-costs.ts'

/** Tokens that a provider wraps around a prompt. */
const FRAME_TOKENS = 64
/** Source images are read in high fidelity: this is OpenAI's dearest rule, above that of every other provider. */
const SOURCE_TOKENS = 6_500
/**
 * The tokens of OpenAI's `medium` square; other providers are close to it. Used if a price is per token and the
 * provider reported none.
 */
const PICTURE_TOKENS = 1_290
const INPUTS = INPUT_METERS.filter((meter) => METER_TABLE[meter].types.includes('image'))
const OUTPUTS = OUTPUT_METERS.filter((meter) => METER_TABLE[meter].types.includes('image'))
const TOKENS = [...INPUTS, ...OUTPUTS]

/** Whether tokens pay for the endpoint's pictures, in whole or in part, in our price or in the provider's. */
function isTokenPriced({ sell, buy }: Endpoint): boolean {
  return (
    [sell, buy].some((sheet) => TOKENS.some((meter) => sheet[meter].digits > 0n)) ||
    (sell.image_output.digits === 0n && buy.image_output.digits === 0n)
  )
}

/** The most that a request can use: a separate call for each picture, each with the longest possible answer. */
export function worstImageUsage(request: ImageRequest, model: Model, endpoint: Endpoint): Usage {
  const { count, sources, mask } = request
  const units = { image_output: count, image_input: sources.length * count, request: count }
  if (!isTokenPriced(endpoint)) return units
  // A prompt is short, and the count of another family's tokenizer would not be a bound.
  const input =
    Buffer.byteLength(request.prompt) + FRAME_TOKENS + (sources.length + (mask === null ? 0 : 1)) * SOURCE_TOKENS
  return {
    ...units,
    [dearest(endpoint.sell, 'input', INPUTS)]: input * count,
    [dearest(endpoint.sell, 'output', OUTPUTS)]: (documentedMax(model, endpoint) ?? 0) * count,
  }
}

/**
 * Whether a charge may exceed the hold: if tokens pay, only the provider can count source images, and answers without a
 * documented length.
 */
export function mayExceedImageHold({ sources }: ImageRequest, model: Model, endpoint: Endpoint): boolean {
  return isTokenPriced(endpoint) && (sources.length > 0 || documentedMax(model, endpoint) === null)
}

/**
 * The usage of the delivered pictures, in the meters for which their endpoint has prices (guarantees.md rules 10 and
 * 16).
 */
export function measuredImageUsage(
  request: ImageRequest,
  result: ImageResult,
  model: Model,
  endpoint: Endpoint,
  tokens: Pick<TokenCounter, 'countText'>,
): MeasuredTokens {
  const { images, calls } = result
  const units = { image_output: images.length, image_input: request.sources.length * calls, request: calls }
  // A price per picture needs no tokens, and the log shows none (wire.md D-6.1).
  if (!isTokenPriced(endpoint)) {
    const report = withUnits(units, null)
    return { report, reported: report, flagged: false, basis: 'provider_usage' }
  }
  const text = Buffer.byteLength(request.prompt) + FRAME_TOKENS
  const { report, reported, flagged, basis } = measureUsage(
    ofPictures(result.usage?.report) ?? { ...countedReport(0, 0), missing: ['input', 'output'] },
    {
      inputMax: () => (request.sources.length > 0 ? Math.max(text, contextOf(model, endpoint)) : text) * calls,
      outputMax: answerMax(model, endpoint) * request.count,
      count: () =>
        ofPictures(
          countedReport(
            countPrompt(request, model, tokens) * calls,
            Math.min(PICTURE_TOKENS, answerMax(model, endpoint)) * images.length,
          ),
        ),
    },
  )
  return { report: withUnits(units, report), reported: withUnits(units, reported), flagged, basis }
}

/** If a provider does not split its output, all of it counts as pictures. */
function ofPictures(report: UsageReport): UsageReport
function ofPictures(report: UsageReport | undefined): UsageReport | undefined
function ofPictures(report: UsageReport | undefined): UsageReport | undefined {
  const { output = 0, ...rest } = report?.usage ?? {}
  if (report === undefined || output === 0 || rest.image_output_tokens !== undefined) return report
  return { ...report, usage: { ...rest, image_output_tokens: output } }
}

function countPrompt({ prompt }: ImageRequest, { tokenizer }: Model, tokens: Pick<TokenCounter, 'countText'>): number {
  return tokens.countText(prompt, tokenizer)
}

function dearest(sell: PriceSheet, plain: Meter, meters: readonly Meter[]): Meter {
  return meters.reduce((left, right) => (compare(sell[left], sell[right]) < 0 ? right : left), plain)
}

/**
 * The request without options that would raise the provider's bill and that nobody pays for. Size and quality have a
 * price in three cases: tokens pay for the picture, the price is by size and quality, or the row lists the parameter,
 * which means one price for all values.
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
  // Higher fidelity means more tokens of source images, and tokens have no price here.
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

/** Whether the quality that the request names costs something else than the default quality. */
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

/** Whether a ratio is sent as a size, since OpenAI's protocol has no field for a ratio; sizes differ in price. */
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
  const wish = { size: size ?? imageSize ?? aspectRatio, quality: quality === undefined ? null : String(quality) }
  return inVariant(endpoint, pictureVariant(endpoint, wish))
}
