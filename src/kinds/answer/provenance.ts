import { isEncodedDetails } from './encoded-details.ts'

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
