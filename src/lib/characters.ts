/** Above every limit: such a text is too long however it is counted. */
const COUNTED_MAX = 1_048_576

/**
 * Characters as people count them: a surrogate pair is one, in a text of up to a million. Spreading the text would make
 * a string of each character.
 */
export function charactersOf(text: string): number {
  if (text.length > COUNTED_MAX) return text.length
  let pairs = 0
  for (let at = 0; at < text.length; at += 1)
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) pairs += 1
  return text.length - pairs
}
