/** Ends the current request or process if an invariant is broken; `sentence` says what must hold. */
export function assert(claim: boolean, sentence: string): asserts claim {
  if (!claim) throw new AssertionError(sentence)
}

class AssertionError extends Error {
  override readonly name = 'AssertionError'
}
