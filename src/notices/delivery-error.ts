/** Rest of a receiver that did not answer: those that do are not kept from the slots. */
export const SILENT_REST_MS = 10_000

/** A message was not taken. `message` is for its owner; it holds nothing of the answer but its status. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  /**
   * For how long nothing else is sent to the same receiver, as it asked or because it did not answer; 0 = it need not
   * wait.
   */
  readonly restMs: number

  constructor(message: string, { restMs = 0, ...options }: ErrorOptions & { readonly restMs?: number } = {}) {
    super(message, options)
    this.restMs = restMs
  }
}
