/**
 * Counts answers that are drained after their client left. They have no bound of their own: each keeps its place among
 * the running requests of its key, account and node, so that clients that leave early have fewer places left.
 */
export class DrainCount {
  #running = 0

  get running(): number {
    return this.#running
  }

  begin(): void {
    this.#running += 1
  }

  end(): void {
    this.#running -= 1
  }
}
