import type { Endpoint, Model } from '../catalog/catalog.ts'
import { keyFor, resolutionOf } from '../catalog/resolution.ts'
import type { PriceSheet } from '../tables/meters.ts'
import { decimalText, shift } from '../base/money.ts'
import { ownValue } from '../base/own-value.ts'

/** The fields that wire.md D-1.2 adds for video models. */
export function videoFields(model: Model, top: Endpoint | null): Record<string, unknown> {
  const listed = model.endpoints.every(({ supportedParameters }) => supportedParameters !== null)
  const parameters = new Set(model.endpoints.flatMap(({ supportedParameters }) => supportedParameters ?? []))
  const can = (name: string): boolean | null => (listed ? parameters.has(name) : null)
  return {
    supported_sizes: model.supportedSizes,
    supported_resolutions: model.supportedResolutions,
    supported_aspect_ratios: model.supportedAspectRatios,
    supported_durations: model.supportedDurations,
    supported_frame_images:
      model.inputModalities.includes('image') && can('frame_images') === true ? ['first_frame', 'last_frame'] : null,
    generate_audio: can('generate_audio'),
    seed: can('seed'),
    creativity: null,
    upscale_factor: null,
    pricing_skus: top === null ? {} : pricingSkus(model, top),
    allowed_passthrough_parameters: [],
  }
}

/** The client's price per second for a request without options. */
export function videoSecond(model: Model, { sell, variants }: Endpoint): PriceSheet {
  const [first] = variants?.keys() ?? []
  const asked = model.supportedSizes?.[0] ?? model.supportedResolutions?.[0] ?? null
  const key = asked === null ? null : keyFor(asked, [...(variants?.keys() ?? [])])
  return variants?.get(key ?? first ?? '')?.sell ?? sell
}

function pricingSkus(model: Model, top: Endpoint): Record<string, string> {
  const base = videoSecond(model, top)
  const skus: Record<string, string> = {}
  if (base.video_seconds.digits > 0n) skus['per-video-second'] = rubles(base, 'video_seconds')
  if (base.request.digits > 0n) skus['per-request'] = rubles(base, 'request')
  for (const [key, { sell }] of top.variants ?? []) {
    const name = `per-video-second-${resolutionOf(key)}`
    // Two price keys of one resolution have different sizes.
    if (sell !== base)
      skus[ownValue(skus, name) === undefined ? name : `per-video-second-${key}`] = rubles(sell, 'video_seconds')
  }
  return skus
}

function rubles(sheet: PriceSheet, meter: 'video_seconds' | 'request'): string {
  return decimalText(shift(sheet[meter], -6))
}
