import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { OperatorError } from '../base/errors.ts'

const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_BYTES = 4
const KEY_BYTES = 32

/**
 * Thrown if an encrypted value of the store cannot be decrypted: the wrapping key is another one, or the value was
 * changed.
 */
export class WrappingKeyError extends OperatorError {
  override readonly name = 'WrappingKeyError'
}

interface WrappingKey {
  readonly id: Buffer
  readonly key: Buffer
}

/**
 * Encrypts provider credentials and other secrets: AES-256-GCM with a fresh IV, bound to a purpose. The first key
 * encrypts, every key decrypts.
 */
export class KeyWrap {
  readonly #keys: readonly WrappingKey[]
  readonly #first: WrappingKey

  constructor(keys: readonly Buffer[]) {
    const [first, ...rest] = keys.map((key) => ({
      id: createHash('sha256').update(key).digest().subarray(0, KEY_ID_BYTES),
      key,
    }))
    if (first === undefined) throw new Error('A key that wraps credentials is required.')
    this.#first = first
    this.#keys = [first, ...rest]
  }

  encrypt(plain: Buffer, purpose: string): Buffer {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#first.key, iv).setAAD(Buffer.from(purpose))
    const body = Buffer.concat([cipher.update(plain), cipher.final()])
    return Buffer.concat([this.#first.id, iv, cipher.getAuthTag(), body])
  }

  /** Keys for another purpose, one derived from each wrapping key, in order; none reveals the others. */
  derived(purpose: string): readonly Buffer[] {
    return this.#keys.map(({ key }) => Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES)))
  }

  /** Throws a WrappingKeyError, with one sentence, if the value cannot be decrypted. */
  decrypt(encrypted: Buffer, purpose: string): Buffer {
    const id = encrypted.subarray(0, KEY_ID_BYTES)
    const wrapping = this.#keys.find((key) => key.id.equals(id))
    if (wrapping === undefined)
      throw new WrappingKeyError(
        'TOLLGATE_KEK is not the key that provider credentials were wrapped with: give the old key beside the new one, the new one first.',
      )
    const ivEnd = KEY_ID_BYTES + IV_BYTES
    try {
      const decipher = createDecipheriv('aes-256-gcm', wrapping.key, encrypted.subarray(KEY_ID_BYTES, ivEnd)).setAAD(
        Buffer.from(purpose),
      )
      decipher.setAuthTag(encrypted.subarray(ivEnd, ivEnd + TAG_BYTES))
      return Buffer.concat([decipher.update(encrypted.subarray(ivEnd + TAG_BYTES)), decipher.final()])
    } catch (cause) {
      throw new WrappingKeyError(
        `What the store holds sealed for '${purpose}' does not open: it was changed, or moved from another place.`,
        { cause },
      )
    }
  }
}

/** The keys in a comma-separated list of base64 texts; null = one of them is not 32 bytes long. */
export function parseWrappingKeys(text: string): readonly Buffer[] | null {
  const keys = text.split(',').map((part) => Buffer.from(part.trim(), 'base64'))
  return keys.length > 0 && keys.every((key) => key.length === KEY_BYTES) ? keys : null
}

export function newWrappingKey(): Buffer {
  return randomBytes(KEY_BYTES)
}
