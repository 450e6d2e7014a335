import { textsOf } from '../../kinds/chat/parts.ts'
import type { ChatMessage, ChatRequest } from '../../kinds/chat/request.ts'
import { textHash } from '../../base/rendezvous.ts'

/**
 * A number that all turns of one conversation share, so that they return to the endpoint and key whose prompt cache
 * they have filled (clients.md D-14.7). It is calculated once, when there is something to choose.
 */
export type Affinity = () => number

/** Enough texts to tell conversations apart, and only microseconds of work whatever the prompt's size. */
const TEXTS_MAX = 4
const HEAD_CHARACTERS = 512
/** Only the end of a long text is read: agents put the same text before every question. */
const TAIL_CHARACTERS = 256

export function sessionAffinity(accountId: string, session: string): Affinity {
  return once(() => textHash(session, textHash(accountId)))
}

/** Calculates the number from parts that no later turn changes: the model, the instructions and the first question. */
export function conversationAffinity(
  accountId: string,
  { model, messages }: Pick<ChatRequest, 'model' | 'messages'>,
): Affinity {
  return once(() => {
    const question = messages.find(({ role }) => role === 'user')
    const hash = textHash(model ?? '', textHash(accountId))
    return openingHash(question === undefined ? [] : [question], openingHash(instructions(messages), hash))
  })
}

/** The instructions before the first question: some clients add others between later turns. */
function instructions(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const end = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  return end === -1 ? messages : messages.slice(0, end)
}

function openingHash(messages: readonly ChatMessage[], seed: number): number {
  let hash = seed
  let texts = 0
  for (const text of textsOf(messages)) {
    if ((texts += 1) > TEXTS_MAX) break
    const tail = text.slice(Math.max(HEAD_CHARACTERS, text.length - TAIL_CHARACTERS))
    hash = textHash(tail, textHash(text, textHash(String(text.length), hash), HEAD_CHARACTERS))
  }
  return hash
}

function once(work: () => number): Affinity {
  let known: number | null = null
  return () => (known ??= work())
}
