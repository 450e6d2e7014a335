import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'

const VERSION = 1
const KEY_ID_BYTES = 4
const SALT_BYTES = 16
const TAG_BYTES = 16
const SALT_AT = 1 + KEY_ID_BYTES
const TAG_AT = SALT_AT + SALT_BYTES
const BODY_AT = TAG_AT + TAG_BYTES
/** Each text has its own key, derived from its salt, so no nonce is used twice with one key. */
const NONCE = Buffer.alloc(12)

interface NodeKey {
  readonly id: Buffer
  readonly key: Buffer
}

/**
 * Encrypts everything that nodes share through Valkey, so that a person who can read or write there sees no stream, and
 * forged messages are ignored. AES-256-GCM, bound to a purpose, with keys that every node derives from TOLLGATE_KEK.
 * The first key encrypts, every key decrypts.
 */
export class NodeCipher {
  readonly #keys: readonly NodeKey[]
  readonly #first: NodeKey

  constructor(keys: readonly Buffer[]) {
    const [first, ...rest] = keys.map((key) => ({
      id: createHash('sha256').update(key).digest().subarray(0, KEY_ID_BYTES),
      key,
    }))
    if (first === undefined) throw new Error('A key that seals what nodes share is required.')
    this.#first = first
    this.#keys = [first, ...rest]
  }

  encrypt(plain: Buffer, purpose: string): Buffer {
    const salt = randomBytes(SALT_BYTES)
    const cipher = createCipheriv('aes-256-gcm', keyOf(this.#first, salt), NONCE).setAAD(Buffer.from(purpose))
    const body = Buffer.concat([cipher.update(plain), cipher.final()])
    return Buffer.concat([Buffer.of(VERSION), this.#first.id, salt, cipher.getAuthTag(), body])
  }

  /** null = no node with one of these keys encrypted it, or it was for another purpose. */
  decrypt(encrypted: Buffer, purpose: string): Buffer | null {
    if (encrypted.length < BODY_AT || encrypted[0] !== VERSION) return null
    const id = encrypted.subarray(1, SALT_AT)
    const known = this.#keys.find((key) => key.id.equals(id))
    if (known === undefined) return null
    const decipher = createDecipheriv('aes-256-gcm', keyOf(known, encrypted.subarray(SALT_AT, TAG_AT)), NONCE).setAAD(
      Buffer.from(purpose),
    )
    decipher.setAuthTag(encrypted.subarray(TAG_AT, BODY_AT))
    try {
      return Buffer.concat([decipher.update(encrypted.subarray(BODY_AT)), decipher.final()])
    } catch {
      // The text was changed, or moved from another place.
      return null
    }
  }

  /** Identifies an encrypted text. */
  saltOf(encrypted: Buffer): string {
    return encrypted.toString('latin1', SALT_AT, TAG_AT)
  }

  /** Names of keys in Valkey that do not reveal their parts: the first is used for writing, all for reading. */
  names(text: string): readonly [string, ...string[]] {
    const nameOf = ({ key }: NodeKey): string => createHmac('sha256', key).update(`name ${text}`).digest('base64url')
    const [, ...rest] = this.#keys
    return [nameOf(this.#first), ...rest.map(nameOf)]
  }
}

function keyOf({ key }: NodeKey, salt: Buffer): Buffer {
  return createHmac('sha256', key).update(salt).digest()
}
