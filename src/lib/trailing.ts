/**
 * The text without the `mark`s at its end. An expression such as `/\/+$/` would try every run of them, which takes
 * quadratic time.
 */
export function withoutTrailing(text: string, mark: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === mark) end -= 1
  return text.slice(0, end)
}
