import type { VideoOperation } from '../kinds/video.ts'
import type { Cipher } from '../lib/cipher.ts'
import { jobPurpose } from '../store/jobs/job-store.ts'

export function encryptOperation(cipher: Cipher, jobId: string, operation: VideoOperation): Buffer {
  return cipher.encrypt(Buffer.from(JSON.stringify(operation)), jobPurpose(jobId))
}

/** null when the wrapping key has been removed. */
export function decryptOperation(cipher: Cipher, jobId: string, encrypted: Buffer): VideoOperation | null {
  try {
    // Encrypted by `encryptOperation`; decryption authenticates it.
    return JSON.parse(cipher.decrypt(encrypted, jobPurpose(jobId)).toString('utf8')) as VideoOperation
  } catch {
    return null
  }
}

/** Removes the pictures when a provider has the job: they may be large and are not needed again. */
export function withoutPictures(operation: VideoOperation): VideoOperation {
  return { ...operation, frameImages: [], inputReferences: [] }
}
