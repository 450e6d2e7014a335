/** Control characters, and those that turn or hide the text around them. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]+/gu

/** A text that somebody else chose, as a part of a line: without line breaks and characters nobody sees, cut short. */
export function oneLine(text: string, charactersMax: number): string {
  const seen = text
    .slice(0, 4 * charactersMax)
    .replaceAll(UNSEEN, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
  const characters = [...seen]
  return characters.length <= charactersMax ? seen : `${characters.slice(0, charactersMax - 1).join('')}…`
}
