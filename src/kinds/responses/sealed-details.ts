import { copyJson } from '../json-fields.ts'

const SEAL = 'tollgate-reasoning-1:'

/**
 * Reasoning details of a chat provider in the one member that clients of Responses give back as it was: signatures,
 * without which some models cannot go on thinking between two tool calls.
 */
export function sealDetails(details: readonly unknown[]): string {
  return SEAL + Buffer.from(JSON.stringify(details)).toString('base64')
}

/** The details of a seal of ours; null for what a native provider has encrypted, and an empty list for a broken one. */
export function openDetails(encrypted: string): readonly unknown[] | null {
  if (!encrypted.startsWith(SEAL)) return null
  try {
    const details = copyJson(
      JSON.parse(Buffer.from(encrypted.slice(SEAL.length), 'base64').toString('utf8')),
      'encrypted_content',
    )
    return Array.isArray(details) ? details : []
  } catch {
    return []
  }
}
