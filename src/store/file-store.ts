/** What is known of a stored file besides its bytes. */
export interface StoredFile {
  readonly id: string
  readonly accountId: string
  readonly mediaType: string
  readonly bytes: number
  /** SHA-256 of the token that opens it without a key, 32 bytes; null = only its owner's key does. */
  readonly tokenDigest: Buffer | null
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

/** Bytes kept for clients for a while: pictures, videos. */
export interface FileStore {
  /**
   * Durable when it resolves; a repeated id replaces. `content` is read once; what throws inside it leaves nothing
   * behind.
   */
  put(file: Omit<StoredFile, 'bytes' | 'createdAtMs'>, content: AsyncIterable<Buffer>): Promise<StoredFile>
  /** An expired file is found until it is swept: who serves it looks at `expiresAtMs`. */
  find(id: string): Promise<StoredFile | null>
  /** Bytes from `start` to `end` inclusive. Throws FileGoneError where the file is not, or is no longer. */
  read(id: string, range: { readonly start: number; readonly end: number }): AsyncIterable<Buffer>
  remove(id: string): Promise<void>
  /** Removes what has expired, and leftovers of broken writes; answers how many files had expired. */
  removeExpired(nowMs: number): Promise<number>
}

/** A file was asked for that is not stored. */
export class FileGoneError extends Error {
  override readonly name = 'FileGoneError'
}
