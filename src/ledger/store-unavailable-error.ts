import { UnavailableError } from '../base/errors.ts'

/**
 * The database does not answer: it is unknown whether its last transaction was committed, and a repeat with the same
 * ids is safe.
 */
export class StoreUnavailableError extends UnavailableError {
  override readonly name = 'StoreUnavailableError'
}
