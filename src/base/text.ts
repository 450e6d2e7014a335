/** More than every limit of characters: such a text is too long however it is counted. */
const COUNTED_MAX = 1_048_576

/**
 * Characters as people count them: a surrogate pair counts as one. Texts of more than a million code units are not
 * counted exactly. Spreading the text would make a string of each character.
 */
export function charactersOf(text: string): number {
  if (text.length > COUNTED_MAX) return text.length
  let pairs = 0
  for (let at = 0; at < text.length; at += 1)
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) pairs += 1
  return text.length - pairs
}

/** Control characters, and characters that change the direction of the text around them or hide it. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]+/gu

/** A text that somebody else chose, shortened for use in a line: without line breaks and invisible characters. */
export function oneLine(text: string, charactersMax: number): string {
  const seen = text
    .slice(0, 4 * charactersMax)
    .replaceAll(UNSEEN, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
  const characters = [...seen]
  return characters.length <= charactersMax ? seen : `${characters.slice(0, charactersMax - 1).join('')}…`
}

/** A text in each language of the console. */
export interface Label {
  readonly en: string
  readonly ru: string
}

/**
 * The text without the `mark`s at its end. An expression such as `/\/+$/` would try every run of them, which takes
 * quadratic time.
 */
export function withoutTrailing(text: string, mark: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === mark) end -= 1
  return text.slice(0, end)
}

/** What was thrown, as a text. */
export function thrownMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
