import { fieldsOf } from '../base/json-text.ts'
import type { NodeCipher } from './node-cipher.ts'
import type { Valkey } from './valkey.ts'

interface SharedToken {
  readonly value: string
  readonly gotAtMs: number
  readonly endsAtMs: number
}

/** Tokens of providers, encrypted, under the print of how they are got. */
export class ValkeyTokens {
  readonly #valkey: Valkey
  readonly #cipher: NodeCipher

  constructor(valkey: Valkey, cipher: NodeCipher) {
    this.#valkey = valkey
    this.#cipher = cipher
  }

  /** null = none, or nobody answers. */
  async read(print: string): Promise<SharedToken | null> {
    for (const key of this.#keys(print)) {
      const encrypted = await this.#valkey.bytesOf(key)
      const plain = encrypted === null ? null : this.#cipher.decrypt(encrypted, purposeOf(print))
      // Written by `write`, and authenticated.
      const { value, gotAtMs, endsAtMs } =
        plain === null ? {} : (fieldsOf(JSON.parse(plain.toString())) as Partial<SharedToken>)
      if (value !== undefined && gotAtMs !== undefined && endsAtMs !== undefined) return { value, gotAtMs, endsAtMs }
    }
    return null
  }

  async write(print: string, token: SharedToken): Promise<void> {
    const [key = ''] = this.#keys(print)
    const lifeMs = Math.floor(token.endsAtMs - token.gotAtMs)
    const encrypted = this.#cipher.encrypt(Buffer.from(JSON.stringify(token)), purposeOf(print))
    if (lifeMs > 0) await this.#valkey.command('SET', [key, encrypted, 'PX', lifeMs])
  }

  #keys(print: string): readonly string[] {
    return this.#cipher.names(purposeOf(print)).map((name) => `tollgate:token:${name}`)
  }
}

function purposeOf(print: string): string {
  return `token ${print}`
}
