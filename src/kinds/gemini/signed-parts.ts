import { GEMINI_REASONING, signatureDetail } from '../../protocols/gemini/gemini-reasoning.ts'
import { isObject } from '../fields/json-fields.ts'
import { decodeDetails, encodeDetails } from '../answer/encoded-details.ts'

/** A Gemini model's signature from reasoning details, and the id of its call; null = it belongs to the text. */
export interface PartSignature {
  readonly data: string
  readonly callId: string | null
}

/** null = another provider's detail. */
export function signatureOf(detail: unknown): PartSignature | null {
  if (!isObject(detail) || detail['format'] !== GEMINI_REASONING) return null
  const { data, id } = detail
  return typeof data === 'string' ? { data, callId: typeof id === 'string' ? id : null } : null
}

/** Whether a provider needs these details back: one of them is signed or encrypted. */
export function areSigned(details: readonly unknown[]): boolean {
  return details.some(
    (detail) =>
      isObject(detail) && (typeof detail['signature'] === 'string' || detail['type'] === 'reasoning.encrypted'),
  )
}

/**
 * Another provider's details in the only field that this protocol's clients send back unchanged. Clients decode it as
 * base64.
 */
export function thoughtSignature(details: readonly unknown[]): string {
  return Buffer.from(encodeDetails(details)).toString('base64')
}

/** The details in a client's `thoughtSignature`; `callId` is that of its part. */
export function detailsOf(signature: string, callId: string | null, index: number): readonly unknown[] {
  return decodeDetails(Buffer.from(signature, 'base64').toString('utf8')) ?? [signatureDetail(signature, callId, index)]
}
