/**
 * An id for a tool call whose upstream gave none: one that no other call of the conversation has, as clients send it
 * back.
 */
export function toolCallId(generationId: string, choice: number, index: number): string {
  return `call_${generationId.split('-').at(-1) ?? ''}_${choice}_${index}`
}
