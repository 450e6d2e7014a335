import assert from 'node:assert/strict'

/** A shipped file with other values. Each edit must meet the text that it replaces: else another file was tried. */
export function edited(text: string, edits: readonly (readonly [from: string, to: string])[]): string {
  return edits.reduce((left, [from, to]) => {
    assert.ok(left.includes(from), `the file has no ${from}`)
    return left.replaceAll(from, to)
  }, text)
}
