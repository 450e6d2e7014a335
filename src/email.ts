import { fieldError } from './base/refusals.ts'

/** The address in lower case, or a refusal: one mailbox is one user, however it is typed. */
export function readEmail(email: string): string {
  if (!/^[^\s@<>"]{1,64}@[^\s@<>"]{1,190}$/.test(email))
    throw fieldError(
      'email',
      'bad_email',
      { given: email.slice(0, 80) },
      `'${email.slice(0, 80)}' is not an e-mail address`,
    )
  return email.toLowerCase()
}
