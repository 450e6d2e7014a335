import { openFor } from '../base/cipher.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'

/** Encrypts a value with the first key. `accountId` absent = the purpose names whose it is. */
export type EncryptAgain = (purpose: string, encrypted: Buffer, accountId?: string | null) => Buffer

/** An aggregate with encrypted contents, such as the requests of jobs and kept answers. */
interface Encrypted {
  encryptAgain(encrypt: EncryptAgain): Promise<unknown>
}

/**
 * Encrypts the contents of a store with the first key, so that an old one can be removed. What no key decrypts stays as
 * it is.
 */
export async function rewrapContents(store: object, keyWrap: KeyWrap): Promise<void> {
  for (const aggregate of Object.values(store).filter(isEncrypted))
    await aggregate.encryptAgain((purpose, encrypted, accountId) => again(keyWrap, purpose, encrypted, accountId))
}

function isEncrypted(aggregate: unknown): aggregate is Encrypted {
  return typeof aggregate === 'object' && aggregate !== null && 'encryptAgain' in aggregate
}

function again(keyWrap: KeyWrap, purpose: string, encrypted: Buffer, accountId?: string | null): Buffer {
  try {
    const opened =
      accountId === undefined
        ? { plain: keyWrap.decrypt(encrypted, purpose), purpose }
        : openFor(keyWrap, encrypted, purpose, accountId)
    return keyWrap.encrypt(opened.plain, opened.purpose)
  } catch {
    return encrypted
  }
}
