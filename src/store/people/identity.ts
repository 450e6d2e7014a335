import { createHash } from 'node:crypto'

/** A person at a single sign-on issuer. */
export interface IdentityName {
  readonly issuer: string
  readonly subject: string
}

/** Its name in URLs: subjects may contain anything. */
export function identityId({ issuer, subject }: IdentityName): string {
  return `idn_${createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex')
    .slice(0, 24)}`
}
