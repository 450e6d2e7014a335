/**
 * Universes that once showed a bug. They are played first, always. A seed means the same only while the simulation draws the
 * same numbers in the same order; that is why each of these bugs is also a mutant.
 */
export const REGRESSION_SEEDS: readonly { readonly seed: number; readonly bug: string }[] = [
  { seed: 19, bug: 'a node that stopped started one more answer' },
  { seed: 53, bug: 'a client that could still come back was charged for an answer that broke' },
  { seed: 219, bug: 'the first charge of a period did not count for the holds of its own commit' },
  { seed: 200, bug: 'a cancelled stream ended as if it were whole for whoever came back to it' },
  { seed: 756, bug: 'who came back to an answer that was being settled waited for ever' },
  // Not bugs of ours: universes that hardly any other sees the planted bug in.
  { seed: 393, bug: 'the sweeper takes what runs on this node' },
  { seed: 2_171, bug: 'a lease is renewed between a look at it and its end' },
]
