/**
 * Universes that once showed a bug. They are played first, always. A seed means the same only while the simulation draws the
 * same numbers in the same order; that is why each of these bugs is also a mutant.
 */
export const REGRESSION_SEEDS: readonly { readonly seed: number; readonly bug: string }[] = [
  { seed: 19, bug: 'a node that stopped started one more answer' },
  { seed: 46, bug: 'a client that could still come back was charged for an answer that broke' },
  { seed: 43, bug: 'the first charge of a period did not count for the holds of its own commit' },
  { seed: 254, bug: 'a cancelled stream ended as if it were whole for whoever came back to it' },
  // Not bugs of ours: universes that only their own mutant is noticed in, or hardly any other.
  { seed: 282, bug: 'the sweeper takes what runs on this node' },
  { seed: 336, bug: 'a node that starts leaves the holds of the dead one' },
  { seed: 521, bug: 'a lease is renewed between a look at it and its end' },
]
