/**
 * Universes that once showed a bug. They are played first, always. A seed means the same only while the simulation draws the
 * same numbers in the same order; that is why each of these bugs is also a mutant.
 */
export const REGRESSION_SEEDS: readonly { readonly seed: number; readonly bug: string }[] = [
  { seed: 12, bug: 'a node that stopped started one more answer' },
  { seed: 31, bug: 'a client that could still come back was charged for an answer that broke' },
  { seed: 103, bug: 'a client in its grace lost its answer for good' },
  { seed: 200, bug: 'a cancelled stream ended as if it were whole for whoever came back to it' },
  { seed: 521, bug: 'a lease was renewed between a look at it and its end' },
]
