/** An object of JSON whose fields nothing is known of. */
export type JsonObject = Readonly<Record<string, unknown>>

/** The fields of an object, or none. */
export function fieldsOf(value: unknown): JsonObject {
  // Nothing is known of the fields.
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {}
}
