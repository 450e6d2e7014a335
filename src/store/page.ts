/** Some of the rows that fit, and how many fit. */
export interface Page<T> {
  readonly data: readonly T[]
  readonly total: number
}
