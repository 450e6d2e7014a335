import { GEMINI_REASONING } from '../../kinds/answer/gemini-reasoning.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'

/** Google's value for a call that another provider made, or whose signature the client has lost. */
export const NO_SIGNATURE = 'skip_thought_signature_validator'

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** The thought signatures of one message, as the client sent them back. */
export interface Signatures {
  /** Signatures by the id of the tool call. */
  readonly ofCalls: ReadonlyMap<string, string>
  /** The signature of the text; null = none. */
  readonly ofText: string | null
}

/** The signatures in reasoning details; another provider's would be refused. */
export function signaturesOf(details: readonly unknown[]): Signatures {
  const ofCalls = new Map<string, string>()
  let ofText: string | null = null
  for (const raw of details) {
    const detail = objectOf(raw)
    const data = textOf(detail?.['data'])
    if (
      detail?.['type'] !== 'reasoning.encrypted' ||
      detail['format'] !== GEMINI_REASONING ||
      data === null ||
      !BASE64.test(data)
    )
      continue
    const id = textOf(detail['id'])
    if (id === null) ofText = data
    else ofCalls.set(id, data)
  }
  return { ofCalls, ofText }
}
