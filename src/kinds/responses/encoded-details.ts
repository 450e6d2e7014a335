import { copyJson } from '../fields/json-fields.ts'

const PREFIX = 'tollgate-reasoning-1:'

/**
 * Reasoning details of a chat provider in the one member that clients of Responses send back unchanged. Some models
 * need these signatures to continue their reasoning between two tool calls.
 */
export function encodeDetails(details: readonly unknown[]): string {
  return PREFIX + Buffer.from(JSON.stringify(details)).toString('base64')
}

/** The details that we encoded; null = a native provider encrypted the text; an empty list = it is broken. */
export function decodeDetails(encoded: string): readonly unknown[] | null {
  if (!encoded.startsWith(PREFIX)) return null
  try {
    const details = copyJson(
      JSON.parse(Buffer.from(encoded.slice(PREFIX.length), 'base64').toString('utf8')),
      'encrypted_content',
    )
    return Array.isArray(details) ? details : []
  } catch {
    return []
  }
}
