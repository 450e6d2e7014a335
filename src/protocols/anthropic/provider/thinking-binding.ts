import { listOf, objectOf, type RawJson } from '../../wire/raw-json.ts'
import type { ModelTraits } from '../../models/claude-traits.ts'

/**
 * The beta with which a request may ask that thoughts are dropped, instead of refused, if the text before them has
 * changed.
 */
export const BINDING_BETA = 'thinking-binding-controls-2026-08-01'
const DROP = { prefix_mismatch_behavior: 'drop_block' }
const THOUGHTS: readonly unknown[] = ['thinking', 'redacted_thinking']

export interface Binding<Message> {
  /** null = no `thinking` is sent. */
  readonly thinking: RawJson | null
  readonly messages: readonly Message[]
  readonly betas: readonly string[]
}

/**
 * Newer models refuse an earlier thought if a text before it has changed: the system text, tools or messages
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks, 2026-11-27). The provider is
 * asked to drop such thoughts. A request whose `thinking` is not adaptive cannot ask for that, so its thoughts are
 * removed here.
 */
export function bindingOf<Message>(
  thinking: RawJson | null,
  messages: readonly Message[],
  { bindsThinking }: Pick<ModelTraits, 'bindsThinking'>,
): Binding<Message> {
  const same = { thinking, messages, betas: [] }
  if (!bindsThinking || !messages.some(thinks) || thinking?.['block_binding'] !== undefined) return same
  const { type = 'adaptive', ...others } = thinking ?? {}
  if (type === 'adaptive') return { ...same, thinking: { type, ...others, block_binding: DROP }, betas: [BINDING_BETA] }
  return { ...same, messages: messages.flatMap(withoutThoughts) }
}

function thinks(message: unknown): boolean {
  return listOf(objectOf(message)?.['content']).some(isThought)
}

function isThought(block: unknown): boolean {
  return THOUGHTS.includes(objectOf(block)?.['type'])
}

function withoutThoughts<Message>(message: Message): readonly Message[] {
  if (!thinks(message)) return [message]
  const content = listOf(objectOf(message)?.['content']).filter((block) => !isThought(block))
  return content.length === 0 ? [] : [{ ...message, content }]
}
