import { BODY_LIMITS, JsonScan } from '../../base/json-scan.ts'
import { copyJson } from '../fields/body-fields.ts'

const PREFIX = 'tollgate-from-1:'

/** What only its provider reads again, with the provider's name for the way back (clients.md 2, 3 and 4). */
export function markedText(text: string, provider: string): string {
  return `${PREFIX}${provider}:${text}`
}

export function isMarkedText(text: unknown): boolean {
  return typeof text === 'string' && text.startsWith(PREFIX)
}

/** The text for its own provider; null = another one's, which would refuse the request. Without a mark it is its own. */
export function ownText(text: string, provider: string): string | null {
  if (!isMarkedText(text)) return text
  const own = markedText('', provider)
  return text.startsWith(own) ? text.slice(own.length) : null
}

/**
 * The signature, or the encrypted text, of a thought in Anthropic's protocol, for the `signer` that is asked next; null
 * = the thought is not sent there. Claude's platforms read each other's and do without a mark: there `signer` is null.
 * Any other provider is sent only what has its mark, even where it signed nothing.
 */
export function ownThought(signature: unknown, signer: string | null): string | null {
  if (typeof signature !== 'string' || signature === '') return null
  if (signer !== null) return isMarkedText(signature) ? ownText(signature, signer) : null
  return isMarkedText(signature) || isEncodedDetails(signature) ? null : signature
}

const DETAILS_PREFIX = 'tollgate-reasoning-1:'

/**
 * Reasoning details of a chat provider in the one member that clients of Responses send back unchanged. Some models
 * need these signatures to continue their reasoning between two tool calls.
 */
export function encodeDetails(details: readonly unknown[]): string {
  return DETAILS_PREFIX + Buffer.from(JSON.stringify(details)).toString('base64')
}

/** Whether we encoded a text, and not a provider that signed or encrypted it. */
export function isEncodedDetails(text: string): boolean {
  return text.startsWith(DETAILS_PREFIX)
}

/** The details that we encoded; null = a native provider encrypted the text; an empty list = it is broken. */
export function decodeDetails(encoded: string): readonly unknown[] | null {
  if (!isEncodedDetails(encoded)) return null
  const bytes = Buffer.from(encoded.slice(DETAILS_PREFIX.length), 'base64')
  // The scan of the body did not look into it.
  if (new JsonScan(BODY_LIMITS).whole(bytes) !== null) return []
  try {
    const details = copyJson(JSON.parse(bytes.toString('utf8')), 'encrypted_content')
    return Array.isArray(details) ? details : []
  } catch {
    return []
  }
}
