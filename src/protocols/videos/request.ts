import type { MediaUrl } from '../../kinds/fields/media.ts'
import type { RoutedRequest } from '../../kinds/fields/routed-request.ts'

export interface FrameImage {
  readonly url: MediaUrl<'image'>
  readonly frame: 'first_frame' | 'last_frame'
}

/** The requested properties of a video; null = not given. */
export interface VideoWish {
  readonly prompt: string
  /** Width and height such as `1280x720`. */
  readonly size: string | null
  /** Whole seconds. */
  readonly duration: number | null
  /** Such as `720p`. */
  readonly resolution: string | null
  /** Such as `16:9`. */
  readonly aspectRatio: string | null
  readonly frameImages: readonly FrameImage[]
  /** Pictures of people, things or a style to use. */
  readonly inputReferences: readonly MediaUrl<'image'>[]
  readonly generateAudio: boolean | null
  readonly seed: number | null
  readonly user: string | null
}

/** The requested video with a fixed length, ready to be sent to a provider. */
export interface VideoOperation extends VideoWish {
  readonly duration: number
}

/** A field on which the price of a video may depend. */
export type PricedField = 'duration' | 'size' | 'resolution'

/** A parsed request for a video (wire.md D-4.4). */
export interface VideoRequest extends RoutedRequest {
  readonly model: string
  readonly wish: VideoWish
}

/** A request for a video with the facts that the HTTP server adds. */
export interface VideoCall {
  /** The id of the request; absent = a new one is made. */
  readonly id?: string
  readonly request: VideoRequest
  readonly requestId: string
  readonly arrivedAtMs: number
  readonly appUrl: string | null
  readonly appTitle: string | null
  readonly endUser: string | null
}

/**
 * The most characters of a provider's id of a job, which is stored with every change of it; the longest in use have
 * some 150.
 */
export const REFERENCE_CHARS_MAX = 400
