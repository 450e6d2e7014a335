/** OpenRouter's name for Gemini's reasoning details, by which clients and we recognise them. */
export const GEMINI_REASONING = 'google-gemini-v1'

/** A thought signature as a reasoning detail; `toolCallId` null = it belongs to the text. */
export function signatureDetail(
  data: string,
  toolCallId: string | null,
  index: number,
): Readonly<Record<string, unknown>> {
  return {
    type: 'reasoning.encrypted',
    data,
    ...(toolCallId === null ? {} : { id: toolCallId }),
    format: GEMINI_REASONING,
    index,
  }
}
