import type { VideoOperation } from '../kinds/video/request.ts'
import type { Cipher } from '../lib/cipher.ts'
import { jobPurpose } from '../store/jobs/job-store.ts'

export function encryptOperation(cipher: Cipher, jobId: string, operation: VideoOperation): Buffer {
  return cipher.encrypt(Buffer.from(JSON.stringify(operation)), jobPurpose(jobId))
}

/** null where the key that encrypted it is no longer there. */
export function decryptOperation(cipher: Cipher, jobId: string, encrypted: Buffer): VideoOperation | null {
  try {
    // Encrypted by `encryptOperation`: nobody else can have written it.
    return JSON.parse(cipher.decrypt(encrypted, jobPurpose(jobId)).toString('utf8')) as VideoOperation
  } catch {
    return null
  }
}

/** Removes the pictures once a provider has the job: they are not needed again, and may be large. */
export function withoutPictures(operation: VideoOperation): VideoOperation {
  return { ...operation, frameImages: [], inputReferences: [] }
}
