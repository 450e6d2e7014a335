import { BODY_LIMITS, JsonScan } from '../../base/json-scan.ts'
import { copyJson } from '../fields/body-fields.ts'

const PREFIX = 'tollgate-from-1:'

/** A text that only its provider can read, marked with the provider's name for its way back (clients.md 2, 3 and 4). */
export function markedText(text: string, provider: string): string {
  return `${PREFIX}${provider}:${text}`
}

export function isMarkedText(text: unknown): boolean {
  return typeof text === 'string' && text.startsWith(PREFIX)
}

/**
 * The text for the provider that made it; null = another provider made it, and this one would refuse the request. A
 * text without a mark counts as the provider's own.
 */
export function ownText(text: string, provider: string): string | null {
  if (!isMarkedText(text)) return text
  const own = markedText('', provider)
  return text.startsWith(own) ? text.slice(own.length) : null
}

/**
 * The signature, or the encrypted text, of a thought in Anthropic's protocol, for the `signer` that is asked next; null
 * = the thought is not sent there. Claude's platforms read each other's signatures and need no mark: for them `signer`
 * is null. Any other provider gets only thoughts with its mark, even if it signed nothing.
 */
export function ownThought(signature: unknown, signer: string | null): string | null {
  if (typeof signature !== 'string' || signature === '') return null
  if (signer !== null) return isMarkedText(signature) ? ownText(signature, signer) : null
  return isMarkedText(signature) || isEncodedDetails(signature) ? null : signature
}

const DETAILS_PREFIX = 'tollgate-reasoning-1:'

/**
 * Reasoning details of a chat provider, in the one member that clients of Responses send back unchanged. Some models
 * need these signatures to continue their reasoning between two tool calls.
 */
export function encodeDetails(details: readonly unknown[]): string {
  return DETAILS_PREFIX + Buffer.from(JSON.stringify(details)).toString('base64')
}

/** Whether we encoded a text; otherwise a provider signed or encrypted it. */
export function isEncodedDetails(text: string): boolean {
  return text.startsWith(DETAILS_PREFIX)
}

/** The details that we encoded; null = a native provider encrypted the text; an empty list = it is broken. */
export function decodeDetails(encoded: string): readonly unknown[] | null {
  if (!isEncodedDetails(encoded)) return null
  const bytes = Buffer.from(encoded.slice(DETAILS_PREFIX.length), 'base64')
  // The scan of the request's body did not look into this text.
  if (new JsonScan(BODY_LIMITS).whole(bytes) !== null) return []
  try {
    const details = copyJson(JSON.parse(bytes.toString('utf8')), 'encrypted_content')
    return Array.isArray(details) ? details : []
  } catch {
    return []
  }
}
