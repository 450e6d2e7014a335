import { test, type TestOptions } from 'node:test'

/** Whether this process runs the long form of its tests: a file named `.long.test.ts`, which imports the short one. */
export const isLong = process.argv[1]?.endsWith('.long.test.ts') === true
/** Whether crashes and faults run for an hour: `npm run test:chaos`. */
export const isChaos = process.env['TOLLGATE_CHAOS'] !== undefined

/**
 * The sizes or cases of a test: every change runs the short form, and the long form what it leaves out, so that
 * together they are all.
 */
export function form<T>({ short, long, chaos }: { readonly short: T; readonly long: T; readonly chaos?: T }): T {
  if (isChaos && chaos !== undefined) return chaos
  return isLong ? long : short
}

/** A test that the long form would only repeat. */
export function testOnce(name: string, options: TestOptions, run: () => void | Promise<void>): void {
  if (!isLong) test(name, options, run)
}

/** The cases of a test: some in the short form, the others in the long one. */
export function shortAndRest<T>(cases: readonly T[], short: readonly T[]): readonly T[] {
  if (isChaos) return cases
  return isLong ? cases.filter((one) => !short.includes(one)) : short
}

/** One case of so many in the short form, the others in the long one. */
export function oneOf<T>(every: number, cases: readonly T[]): readonly T[] {
  return shortAndRest(
    cases,
    cases.filter((_, index) => index % every === 0),
  )
}
