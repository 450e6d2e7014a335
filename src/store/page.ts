/** Some of the matching rows, and how many match. */
export interface Page<T> {
  readonly data: readonly T[]
  readonly total: number
}
