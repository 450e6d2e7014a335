/** Whether this process runs the long form of its tests: a file named `.long.test.ts`, which imports the short one. */
export const isLong = process.argv[1]?.endsWith('.long.test.ts') === true

/** What a test is done with: each change sees the short form, and the long one the rest, so that together they are all. */
export function form<T>({ short, long }: { readonly short: T; readonly long: T }): T {
  return isLong ? long : short
}
