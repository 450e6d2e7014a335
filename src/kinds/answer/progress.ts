import type { AnswerEvent } from './event.ts'

/** The most states that are remembered, since an upstream may be broken. */
const STATES_MAX = 4_096
const TYPE_CHARS_MAX = 128
/** Members that only name a piece and have no content. */
const NAMES: ReadonlySet<string> = new Set([
  'type',
  'id',
  'index',
  'format',
  'status',
  'item_id',
  'output_index',
  'content_index',
  'jsonPath',
  'willContinue',
])

/**
 * Tells events that carry something (text, a part of a call, an item, an end, more usage) from those with which a
 * provider only shows that it is alive: empty deltas, repeated states and repeated usage (guarantees.md F23).
 */
export class Progress {
  readonly #states = new Set<string>()
  #outputTokens = -1

  /** Whether any of the events advances the answer. */
  isMade(events: readonly AnswerEvent[]): boolean {
    let isMade = false
    for (const event of events) if (this.#carries(event)) isMade = true
    return isMade
  }

  #carries(event: AnswerEvent): boolean {
    switch (event.type) {
      case 'spliced':
      case 'tool_arguments':
        return event.text !== ''
      case 'text':
      case 'reasoning':
      case 'refusal':
        return event.text !== '' || event.silent === true || !isBlank(event.logprobs)
      case 'tool_call':
        return true
      case 'extra':
        return !isBlank(event.value)
      case 'item':
        if (event.step !== 'native') return event.step !== 'part'
        return !isBlank(event.event) || (!('delta' in event.event) && this.#isNew(event.event['type'], event.key))
      case 'finish':
        return this.#isNew(event.type, event.choice)
      case 'usage': {
        const isMore = event.usage.outputTokens > this.#outputTokens
        if (isMore) this.#outputTokens = event.usage.outputTokens
        return isMore
      }
      case 'origin':
      case 'wire':
        return false
    }
  }

  #isNew(type: unknown, of: number): boolean {
    const state = typeof type === 'string' && type.length <= TYPE_CHARS_MAX ? `${type} ${of}` : ''
    if (state === '' || this.#states.has(state) || this.#states.size >= STATES_MAX) return false
    this.#states.add(state)
    return true
  }
}

/** Whether a value of parsed JSON has no content: no text, no number but 0, no members but names. */
export function isBlank(value: unknown): boolean {
  if (typeof value !== 'object') return value === '' || value === 0 || value === undefined
  if (value === null) return true
  return Object.entries(value).every(([name, member]) => NAMES.has(name) || isBlank(member))
}
