import { domainToASCII } from 'node:url'
import { fieldError } from './refusals.ts'

const CHARACTERS_MAX = 254
const SHAPE = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){0,8}$/u

/**
 * Whether mail can be sent to it: one plain address, without quotes, comments and lists, so that it can neither become
 * several nor carry a header.
 */
export function isMailAddress(text: string): boolean {
  return text.length <= CHARACTERS_MAX && SHAPE.test(text)
}

/** Domains whose mailboxes are those of another domain. */
const SAME_DOMAINS: ReadonlyMap<string, string> = new Map([['googlemail.com', 'gmail.com']])

/** One text for every address of a mailbox: tags, dots and upper case make no difference. */
export function mailboxOf(address: string): string {
  const at = address.lastIndexOf('@')
  const [name = ''] = address.slice(0, at).normalize('NFKC').toLowerCase().split('+', 1)
  const given = address.slice(at + 1)
  const domain = domainToASCII(given) || given.toLowerCase()
  return `${name.replaceAll('.', '')}@${SAME_DOMAINS.get(domain) ?? domain}`
}

export function isTagged(address: string): boolean {
  return address.slice(0, address.lastIndexOf('@')).includes('+')
}

/** The address in lower case; throws if it is none. One mailbox is one user, whatever case was typed. */
export function readEmail(email: string): string {
  if (!/^[^\s@<>"]{1,64}@[^\s@<>"]{1,190}$/.test(email))
    throw fieldError('email', 'bad_email', { given: email.slice(0, 80) })
  return email.toLowerCase()
}
