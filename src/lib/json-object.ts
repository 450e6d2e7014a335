/** An object of JSON whose fields nothing is known of. */
export type JsonObject = Readonly<Record<string, unknown>>
