/** The database does not answer: whether its last transaction was committed is not known, and a repeat by the same ids is safe. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
}
