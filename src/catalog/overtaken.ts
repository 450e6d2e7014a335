/** How often a change is tried again when another node's came first. */
const TRIES_MAX = 10

/** Another node has written since this one read what a change is made of. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError'
}

/** Repeats a change, which reads anew, on top of the one that has overtaken it, so that neither is lost. */
export async function onTop<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (thrown) {
      if (!(thrown instanceof OvertakenError) || tries === TRIES_MAX) throw thrown
    }
  }
}
