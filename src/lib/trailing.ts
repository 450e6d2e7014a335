/**
 * The text without the `mark`s at its end; an expression such as `/\/+$/` tries every run of them, which takes the
 * square of their number.
 */
export function withoutTrailing(text: string, mark: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === mark) end -= 1
  return text.slice(0, end)
}
