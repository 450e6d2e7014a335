/** A message was not taken. `message` is for its owner; it holds nothing of the answer but its status. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
}
