import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { unavailable } from '../base/errors.ts'
import { fieldError } from '../base/refusals.ts'

export const PASSWORD_LENGTH = Object.freeze({ least: 12, most: 128 })
const HASHES_MAX = 2
const QUEUE_MAX = 20
const RETRY_SECONDS = 2
const SALT_BYTES = 16
/** OWASP's argon2id setting: 19 MiB, two passes, one lane. */
const ARGON2 = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
const STORED = /^argon2id\$([A-Za-z0-9+/=]{20,64})\$([A-Za-z0-9+/=]{40,64})$/
const COMMON_FILE = new URL('common-passwords.txt', import.meta.url)

/**
 * Hashes and checks passwords, at most two at a time: each takes 19 MiB and a core for a while, so many sign-ins at
 * once could fill the memory.
 */
export class Passwords {
  readonly #waiting: (() => void)[] = []
  readonly #common: ReadonlySet<string>
  /** Compared with the password of an unknown user, so that both cases take equally long. */
  readonly #dummy: { readonly salt: Buffer; readonly tag: Buffer }
  #running = 0

  constructor() {
    this.#common = new Set(
      readFileSync(COMMON_FILE, 'utf8')
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#')),
    )
    this.#dummy = { salt: randomBytes(SALT_BYTES), tag: randomBytes(ARGON2.tagLength) }
  }

  /**
   * Refuses a password that is too short, too long or common, naming `field`; `owner` = the user's own data, which
   * attackers try first.
   */
  check(field: string, password: string, owner: readonly string[]): void {
    const { least, most } = PASSWORD_LENGTH
    const length = [...password].length
    if (length < least || length > most) throw fieldError(field, 'length', { least, most, given: length })
    const plain = password.toLowerCase()
    const ownWord = owner.some(
      (word) =>
        word.length > 0 &&
        (plain === word.toLowerCase() ||
          plain ===
            word
              .toLowerCase()
              .repeat(Math.ceil(plain.length / word.length))
              .slice(0, plain.length)),
    )
    if (this.#common.has(plain) || /^(.)\1*$/.test(plain) || ownWord) throw fieldError(field, 'guessable')
  }

  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    return `argon2id$${salt.toString('base64')}$${(await this.#derive(password, salt)).toString('base64')}`
  }

  /** `stored` null = an unknown user, or one without a password: the answer is false, and takes as long. */
  async verify(password: string, stored: string | null): Promise<boolean> {
    const [, salt, tag] = STORED.exec(stored ?? '') ?? []
    const known = salt !== undefined && tag !== undefined
    const expected = known ? { salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') } : this.#dummy
    const derived = await this.#derive(password, expected.salt)
    return derived.length === expected.tag.length && timingSafeEqual(derived, expected.tag) && known
  }

  async #derive(password: string, nonce: Buffer): Promise<Buffer> {
    await this.#turn()
    try {
      return await derive(password, nonce)
    } finally {
      this.#running -= 1
      this.#waiting.shift()?.()
    }
  }

  async #turn(): Promise<void> {
    if (this.#running >= HASHES_MAX) {
      if (this.#waiting.length >= QUEUE_MAX)
        throw unavailable(
          `Too many are signing in. Retry after ${RETRY_SECONDS} seconds`,
          RETRY_SECONDS,
          'password_queue',
        )
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
    }
    this.#running += 1
  }
}

function derive(password: string, nonce: Buffer): Promise<Buffer> {
  const parameters: Argon2Parameters = { message: password.normalize('NFC'), nonce, ...ARGON2 }
  return new Promise((resolve, reject) => {
    argon2('argon2id', parameters, (error, key) => (error === null ? resolve(Buffer.from(key)) : reject(error)))
  })
}
