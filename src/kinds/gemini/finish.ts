import type { FinishReason } from '../chat/answer.ts'

/** Reasons that only this protocol has; they pass unchanged from its own providers. */
const OWN: ReadonlySet<string> = new Set([
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MALFORMED_FUNCTION_CALL',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
  'IMAGE_OTHER',
  'NO_IMAGE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
])
const NAMES: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
  error: 'OTHER',
}

/** `finishReason` of a candidate; `isBroken` = one of its calls could not be shown. */
export function finishReasonName(finish: FinishReason | null, native: string | null, isBroken: boolean): string {
  if (isBroken && finish !== 'length') return 'MALFORMED_FUNCTION_CALL'
  if (native !== null && OWN.has(native) && (finish === 'content_filter' || finish === 'error')) return native
  return NAMES[finish ?? 'stop']
}
