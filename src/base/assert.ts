/** Stops the current request or process when an invariant is broken; `sentence` says what should have held. */
export function assert(claim: boolean, sentence: string): asserts claim {
  if (!claim) throw new AssertionError(sentence)
}

class AssertionError extends Error {
  override readonly name = 'AssertionError'
}
