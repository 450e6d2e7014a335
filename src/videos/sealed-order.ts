import type { VideoOrder } from '../kinds/video-request.ts'
import { jobPurpose } from '../store/job-store.ts'

/** Wraps what must not lie readable in the store; bound to what it is for. */
export interface Seal {
  seal(plain: Buffer, purpose: string): Buffer
  open(sealed: Buffer, purpose: string): Buffer
}

export function sealOrder(seal: Seal, jobId: string, order: VideoOrder): Buffer {
  return seal.seal(Buffer.from(JSON.stringify(order)), jobPurpose(jobId))
}

/** null where the key that sealed it is no longer there. */
export function openOrder(seal: Seal, jobId: string, sealed: Buffer): VideoOrder | null {
  try {
    // Sealed by `sealOrder`: nobody else can have written it.
    return JSON.parse(seal.open(sealed, jobPurpose(jobId)).toString('utf8')) as VideoOrder
  } catch {
    return null
  }
}

/** Once a provider has the job its pictures are of no use any more, and they may be large. */
export function withoutPictures(order: VideoOrder): VideoOrder {
  return { ...order, frameImages: [], inputReferences: [] }
}
