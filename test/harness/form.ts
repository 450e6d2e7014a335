/**
 * Whether this process runs the long form of its tests, as `npm run test:all` does. A server that a test starts
 * inherits the variable, and would warn about an unknown one with the prefix TOLLGATE_.
 */
export const isLong = process.env['TEST_FORM'] === 'long'
/** Whether crashes and faults run for an hour: `npm run test:chaos`. */
export const isChaos = process.env['TOLLGATE_CHAOS'] !== undefined

/** The size of a test: every change runs the short form, CI the long one. */
export function form<T>({ short, long, chaos }: { readonly short: T; readonly long: T; readonly chaos?: T }): T {
  if (isChaos && chaos !== undefined) return chaos
  return isLong ? long : short
}

/** The cases of a test: those in `short` in the short form, all in the other forms. */
export function casesOf<const T>(cases: readonly T[], short: readonly T[]): readonly T[] {
  return isLong || isChaos ? cases : short
}

/** One in `every` cases in the short form, all in the other forms. */
export function oneOf<const T>(every: number, cases: readonly T[]): readonly T[] {
  return casesOf(
    cases,
    cases.filter((_, index) => index % every === 0),
  )
}
