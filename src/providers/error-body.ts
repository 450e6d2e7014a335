import { objectOf, type RawJson } from './raw-json.ts'

/** An error inside a 200, as several providers send it. */
export function isErrorBody(body: unknown): body is RawJson {
  return (objectOf(body)?.['error'] ?? null) !== null
}
