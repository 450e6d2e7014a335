/** An id for a tool call whose upstream gave none, unique in the conversation, since clients send it back. */
export function toolCallId(generationId: string, choice: number, index: number): string {
  return `call_${generationId.split('-').at(-1) ?? ''}_${choice}_${index}`
}
