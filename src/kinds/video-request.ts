import type { RoutedRequest } from './routed-request.ts'

export interface FrameImage {
  /** An address or a data URL. */
  readonly url: string
  readonly frame: 'first_frame' | 'last_frame'
}

/** What a video is to look like; null = not said. */
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
  /** Pictures to take people, things or a style from: addresses or data URLs. */
  readonly inputReferences: readonly string[]
  readonly generateAudio: boolean | null
  readonly seed: number | null
  readonly user: string | null
}

/** A wish whose length is settled, as a provider is asked for it. */
export interface VideoOrder extends VideoWish {
  readonly duration: number
}

/** A parsed request for a video (wire.md D-4.4). */
export interface VideoRequest extends RoutedRequest {
  readonly model: string
  readonly wish: VideoWish
}
