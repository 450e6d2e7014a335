import type { FinishReason } from '../chat/answer.ts'

/**
 * The reasons of wire.md D-3.2. A Map, because a provider's text such as `constructor` must not find an inherited
 * property.
 */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ...names('stop', ['stop', 'end_turn', 'stop_sequence', 'STOP_SEQUENCE', 'pause_turn', 'STOP', 'COMPLETE', 'eos']),
  ...names('tool_calls', ['tool_calls', 'tool_use', 'TOOL_CALL', 'function_call']),
  ...names('length', ['length', 'max_tokens', 'MAX_TOKENS', 'model_length', 'model_context_window_exceeded']),
  ...names('content_filter', [
    'content_filter',
    'refusal',
    'SAFETY',
    'RECITATION',
    'BLOCKLIST',
    'PROHIBITED_CONTENT',
    'SPII',
    'IMAGE_SAFETY',
  ]),
  ...names('error', ['error', 'MALFORMED_FUNCTION_CALL', 'insufficient_system_resource', 'OTHER']),
])

/** Words that some services put into every piece in place of a reason while there is none. */
const NO_REASONS: ReadonlySet<unknown> = new Set(['', 'null', 'None', 'FINISH_REASON_UNSPECIFIED'])

function names(reason: FinishReason, natives: readonly string[]): (readonly [string, FinishReason])[] {
  return natives.map((native) => [native, reason] as const)
}

/** A provider's own reason; null = none, so the answer continues. */
export function namedReason(raw: unknown): string | null {
  return typeof raw === 'string' && !NO_REASONS.has(raw) ? raw : null
}

/**
 * The normalised form of a provider's reason. An answer with tool calls is `tool_calls` whatever the provider says,
 * unless it was cut by length or broken off: half a tool call must not be run. null = the provider named no reason.
 */
export function finishReasonOf(native: string | null, hasToolCalls: boolean): FinishReason | null {
  const reason = native === null ? null : (FINISH_REASONS.get(native) ?? 'stop')
  const isCut = reason === 'length' || (reason === 'error' && native !== 'OTHER')
  return hasToolCalls && !isCut ? 'tool_calls' : reason
}
