/** Encrypts secrets; a secret encrypted for one purpose cannot be decrypted for another. */
export interface Cipher {
  encrypt(plain: Buffer, purpose: string): Buffer
  decrypt(encrypted: Buffer, purpose: string): Buffer
}
