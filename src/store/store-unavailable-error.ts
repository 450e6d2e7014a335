import { UnavailableError } from '../errors.ts'

/**
 * The database does not answer: whether its last transaction was committed is not known, and a repeat by the same ids
 * is safe.
 */
export class StoreUnavailableError extends UnavailableError {
  override readonly name = 'StoreUnavailableError'
}
