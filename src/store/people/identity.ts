import { createHash } from 'node:crypto'

/** Somebody at an issuer of single sign-on. */
export interface IdentityName {
  readonly issuer: string
  readonly subject: string
}

/** Its name in addresses: subjects may hold anything. */
export function identityId({ issuer, subject }: IdentityName): string {
  return `idn_${createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex')
    .slice(0, 24)}`
}
