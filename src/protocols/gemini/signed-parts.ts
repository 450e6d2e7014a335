import { GEMINI_REASONING, signatureDetail } from '../models/gemini-traits.ts'
import { isObject } from '../../kinds/fields/body-fields.ts'
import {
  isMarkedText,
  markedText,
  ownText,
  decodeDetails,
  encodeDetails,
  isEncodedDetails,
} from '../../kinds/answer/provenance.ts'

/** A Gemini model's signature from reasoning details, and the id of its call; null = it belongs to the text. */
export interface PartSignature {
  readonly data: string
  readonly callId: string | null
}

/** null = the detail comes from another provider. */
export function signatureOf(detail: unknown): PartSignature | null {
  if (!isObject(detail) || detail['format'] !== GEMINI_REASONING) return null
  const { data, id } = detail
  if (typeof data !== 'string') return null
  return { data: isMarkedText(data) ? base64(data) : data, callId: typeof id === 'string' ? id : null }
}

/** Whether a provider needs these details back, since one of them is signed or encrypted. */
export function areSigned(details: readonly unknown[]): boolean {
  return details.some(
    (detail) =>
      isObject(detail) && (typeof detail['signature'] === 'string' || detail['type'] === 'reasoning.encrypted'),
  )
}

/**
 * The details of another provider in the only field that this protocol's clients send back unchanged. Clients decode
 * the field as base64.
 */
export function thoughtSignature(details: readonly unknown[]): string {
  return base64(encodeDetails(details))
}

/** The details in a client's `thoughtSignature`; `callId` is that of its part. */
export function detailsOf(signature: string, callId: string | null, index: number): readonly unknown[] {
  const text = textIn(signature)
  return decodeDetails(text) ?? [signatureDetail(isMarkedText(text) ? text : signature, callId, index)]
}

/** A provider's signature with the provider's mark, in the form in which clients store it. */
export function markedSignature(signature: string, provider: string): string {
  return base64(markedText(signature, provider))
}

/**
 * The signature that a client sent back, for the `signer` that is asked next (`ownThought`); null = another signer made
 * it.
 */
export function ownSignature(signature: string, signer: string | null): string | null {
  const text = textIn(signature)
  if (isEncodedDetails(text)) return null
  if (!isMarkedText(text)) return signer === null ? signature : null
  return signer === null ? null : ownText(text, signer)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function textIn(signature: string): string {
  return Buffer.from(signature, 'base64').toString('utf8')
}
