/** Whole answers of providers, by their protocol. */

export function completion(message: object, { finish = 'stop', ...more }: Readonly<Record<string, unknown>> = {}) {
  const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }
  return { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice], ...more }
}

export function candidate(parts: readonly unknown[], usageMetadata?: object): Readonly<Record<string, unknown>> {
  return { candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }], usageMetadata }
}

export function claudeMessage(content: unknown, usage: object, more: object = {}): Readonly<Record<string, unknown>> {
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content }
  return { ...message, stop_reason: 'end_turn', stop_sequence: null, usage, ...more }
}
