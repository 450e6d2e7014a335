import { CLAUDE_REASONING } from '../../kinds/answer/claude-reasoning.ts'
import { objectOf, textOf } from '../../protocols/wire/raw-json.ts'

/** A thought that the model accepts back: with its signature, or encrypted. */
export type SignedThought = { readonly text: string; readonly signature: string } | { readonly encrypted: string }

/**
 * Claude's reasoning in the details that a client sends back, whole or in a stream's pieces. Other models' reasoning,
 * and reasoning without a signature, is left out: it would be refused.
 */
export function signedThoughts(details: readonly unknown[]): readonly SignedThought[] {
  const thoughts: SignedThought[] = []
  let text = ''
  let index: unknown = null
  for (const raw of details) {
    const detail = objectOf(raw)
    if (detail?.['format'] !== CLAUDE_REASONING) continue
    if (detail['type'] === 'reasoning.encrypted') {
      const encrypted = textOf(detail['data']) ?? ''
      if (encrypted !== '') thoughts.push({ encrypted })
    }
    if (detail['type'] !== 'reasoning.text') continue
    text = (detail['index'] === index ? text : '') + (textOf(detail['text']) ?? '')
    index = detail['index']
    const signature = textOf(detail['signature']) ?? ''
    if (signature === '') continue
    thoughts.push({ text, signature })
    text = ''
  }
  return thoughts
}
