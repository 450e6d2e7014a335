import { BODY_LIMITS, JsonScan } from '../../base/json-scan.ts'
import { copyJson } from '../fields/body-fields.ts'

const PREFIX = 'tollgate-reasoning-1:'

/**
 * Reasoning details of a chat provider in the one member that clients of Responses send back unchanged. Some models
 * need these signatures to continue their reasoning between two tool calls.
 */
export function encodeDetails(details: readonly unknown[]): string {
  return PREFIX + Buffer.from(JSON.stringify(details)).toString('base64')
}

/** Whether we encoded a text, and not a provider that signed or encrypted it. */
export function isEncodedDetails(text: string): boolean {
  return text.startsWith(PREFIX)
}

/** The details that we encoded; null = a native provider encrypted the text; an empty list = it is broken. */
export function decodeDetails(encoded: string): readonly unknown[] | null {
  if (!isEncodedDetails(encoded)) return null
  const bytes = Buffer.from(encoded.slice(PREFIX.length), 'base64')
  // The scan of the body did not look into it.
  if (new JsonScan(BODY_LIMITS).whole(bytes) !== null) return []
  try {
    const details = copyJson(JSON.parse(bytes.toString('utf8')), 'encrypted_content')
    return Array.isArray(details) ? details : []
  } catch {
    return []
  }
}
