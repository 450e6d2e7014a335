/** Encrypts secrets; a secret encrypted for one purpose cannot be decrypted for another. */
export interface Cipher {
  encrypt(plain: Buffer, purpose: string): Buffer
  decrypt(encrypted: Buffer, purpose: string): Buffer
}

/**
 * The purpose of what is one account's: a row that is moved to another account does not open there. null = the
 * operator.
 */
export function purposeOf(purpose: string, accountId: string | null): string {
  return `${purpose} of ${accountId ?? 'the operator'}`
}

/** Opens what was encrypted for a purpose of an account, or for the purpose alone by an earlier version. */
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
