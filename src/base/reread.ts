/** What something can be read from, which can be had again. */
interface Source<Self> {
  /** null = what is read of it stays. */
  readonly again: (() => Self) | null
}

/**
 * What was read from the body of a request, and need not stay in memory while a provider answers. Whatever lives as
 * long as an answer is copied by each collection of garbage: with prompts of 100 kB that took a quarter of a chat's
 * CPU.
 */
export class Reread<T> {
  #value: T | null
  readonly #read: () => T

  private constructor(value: T, again: (() => T) | null) {
    this.#value = value
    this.#read = again ?? (() => value)
  }

  /** `read` always reads the same. It must not keep its source, and nobody may keep the value. */
  static of<Input extends Source<Input>, T>(source: Input, read: (source: Input) => T): Reread<T> {
    const { again } = source
    return new Reread(read(source), again === null ? null : () => read(again()))
  }

  get value(): T {
    this.#value ??= this.#read()
    return this.#value
  }

  drop(): void {
    this.#value = null
  }
}
