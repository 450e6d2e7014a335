/** Encrypts secrets; a secret encrypted for one purpose cannot be decrypted for another. */
export interface Cipher {
  encrypt(plain: Buffer, purpose: string): Buffer
  decrypt(encrypted: Buffer, purpose: string): Buffer
}

/**
 * The purpose of a secret that belongs to an account: a row that is moved to another account cannot be decrypted there.
 * null = the operator's.
 */
export function purposeOf(purpose: string, accountId: string | null): string {
  return `${purpose} of ${accountId ?? 'the operator'}`
}

/** Decrypts what was encrypted for a purpose of an account, or by an earlier version for the purpose alone. */
export function openFor(
  cipher: Cipher,
  encrypted: Buffer,
  purpose: string,
  accountId: string | null,
): { readonly plain: Buffer; readonly purpose: string } {
  const own = purposeOf(purpose, accountId)
  try {
    return { plain: cipher.decrypt(encrypted, own), purpose: own }
  } catch {
    return { plain: cipher.decrypt(encrypted, purpose), purpose }
  }
}
