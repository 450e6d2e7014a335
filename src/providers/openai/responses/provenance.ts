import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { objectOf, textOf } from '../../../protocols/wire/raw-json.ts'

const PREFIX = 'tollgate-from-1:'
const FIELD = 'encrypted_content'

/**
 * Only the provider that encrypted reasoning can open it, and another one refuses the whole request. So the client's
 * copy names the provider (clients.md 3).
 */
export function marked(events: readonly AnswerEvent[], provider: string): readonly AnswerEvent[] {
  return events.map((event) => {
    if (event.type !== 'item') return event
    if (event.step === 'end') return { ...event, fields: markedFields(event.fields, provider) }
    const item = event.step === 'native' ? objectOf(event.event['item']) : null
    return event.step !== 'native' || item === null
      ? event
      : { ...event, event: { ...event.event, item: markedFields(item, provider) } }
  })
}

/**
 * The text for its own provider; null = another provider encrypted it. Text without a mark counts as this provider's
 * own.
 */
export function unmarked(text: string, provider: string): string | null {
  if (!text.startsWith(PREFIX)) return text
  const own = `${PREFIX}${provider}:`
  return text.startsWith(own) ? text.slice(own.length) : null
}

function markedFields(fields: Readonly<Record<string, unknown>>, provider: string): Readonly<Record<string, unknown>> {
  const text = textOf(fields[FIELD])
  return text === null || text === '' ? fields : { ...fields, [FIELD]: `${PREFIX}${provider}:${text}` }
}
