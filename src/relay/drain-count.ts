/**
 * Answers that are read to their end after their client left. They are not bounded here: each keeps the place among the
 * running requests of its key, account and node that it had, so that who leaves early has the fewer left to ask with.
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
