const CHARACTERS_MAX = 254
const SHAPE = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){0,8}$/u

/**
 * Whether mail can be sent to it: one plain address, without quotes, comments and lists, so that it can neither become
 * several nor carry a header.
 */
export function isMailAddress(text: string): boolean {
  return text.length <= CHARACTERS_MAX && SHAPE.test(text)
}
