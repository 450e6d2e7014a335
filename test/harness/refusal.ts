import { ApiError } from '../../src/base/errors.ts'

/** The error that `run` throws. */
export function refusal(run: () => unknown): ApiError {
  const thrown = refusalOrNull(run)
  if (thrown === null) throw new Error('Nothing was refused.')
  return thrown
}

/** The name and the words of the error that `run` throws, or `accepted`. */
export function verdict(run: () => unknown): string {
  const thrown = refusalOrNull(run)
  return thrown === null ? 'accepted' : `${thrown.errorName} | ${thrown.message}`
}

function refusalOrNull(run: () => unknown): ApiError | null {
  try {
    run()
    return null
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown
    throw thrown
  }
}
