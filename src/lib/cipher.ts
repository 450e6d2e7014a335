/** Encrypts secrets; what was encrypted for one purpose opens for no other. */
export interface Cipher {
  encrypt(plain: Buffer, purpose: string): Buffer
  decrypt(encrypted: Buffer, purpose: string): Buffer
}
