import type { AnswerEvent } from '../../kinds/answer/event.ts'
import { argumentsText, legacyCall } from '../openai/provider/delta.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { toolCallId } from '../../providers/answers/tool-call-id.ts'

/** Far beyond any honest answer: a bound on what a broken upstream makes us keep. */
const CALLS_MAX = 256
/** Of arguments whose call has no name yet. */
const WAITING_CHARS_MAX = 1_048_576

interface OpenCall {
  readonly upstreamId: string
  /** null = it has no name yet, and the client does not know of it. */
  index: number | null
  /** Arguments that came before the name. */
  waiting: string
}

interface RawCall {
  readonly upstreamIndex: number | null
  readonly id: string
  readonly name: string
  readonly text: string
}

/**
 * The tool calls of one choice. Each opens once, and its arguments follow; without a name there is nothing to call.
 * Indexes start at 0 whatever the upstream uses; repeated ids and names are dropped.
 */
export class ToolCallDeltas {
  readonly #generationId: string
  readonly #choice: number
  readonly #byUpstreamIndex = new Map<number, OpenCall>()
  #last: OpenCall | null = null
  #begun = 0
  #waitingChars = 0
  #count = 0

  constructor(generationId: string, choice: number) {
    this.#generationId = generationId
    this.#choice = choice
  }

  get count(): number {
    return this.#count
  }

  /** The events of one upstream delta; null when no honest answer has so many calls, or so much without a name. */
  read(delta: RawJson): readonly AnswerEvent[] | null {
    const calls = listOf(delta['tool_calls']).map((raw) => readCall(raw))
    const legacy = legacyCall(delta)
    if (legacy !== null) calls.push({ upstreamIndex: 0, id: '', name: legacy.name, text: legacy.arguments })
    const events: AnswerEvent[] = []
    const seen = new Set<OpenCall>()
    for (const call of calls) {
      // Some dialects send empty values in every field.
      if (call.id === '' && call.name === '' && call.text === '') continue
      const open = this.#openCall(call, seen)
      seen.add(open)
      this.#add(events, open, call)
      if (this.#begun > CALLS_MAX || this.#waitingChars > WAITING_CHARS_MAX) return null
    }
    return events
  }

  #openCall(call: RawCall, seen: ReadonlySet<OpenCall>): OpenCall {
    const known = call.upstreamIndex === null ? this.#last : (this.#byUpstreamIndex.get(call.upstreamIndex) ?? null)
    const open =
      known === null || isAnother(call, known, seen) ? { upstreamId: call.id, index: null, waiting: '' } : known
    if (open !== known) this.#begun += 1
    if (call.upstreamIndex !== null) this.#byUpstreamIndex.set(call.upstreamIndex, open)
    this.#last = open
    return open
  }

  #add(events: AnswerEvent[], open: OpenCall, { id, name, text }: RawCall): void {
    const choice = this.#choice
    if (open.index === null && name === '') {
      open.waiting += text
      this.#waitingChars += text.length
      return
    }
    if (open.index === null) {
      open.index = this.#count
      this.#count += 1
      const given = open.upstreamId || id || toolCallId(this.#generationId, choice, open.index)
      events.push({ type: 'tool_call', choice, index: open.index, id: given, name })
    }
    const { index, waiting } = open
    open.waiting = ''
    if (waiting + text !== '') events.push({ type: 'tool_arguments', choice, index, text: waiting + text })
  }
}

function readCall(raw: unknown): RawCall {
  const call = objectOf(raw)
  const called = objectOf(call?.['function'])
  const index = call?.['index']
  return {
    upstreamIndex: typeof index === 'number' ? index : null,
    id: textOf(call?.['id']) ?? '',
    name: textOf(called?.['name']) ?? '',
    text: argumentsText(called?.['arguments']),
  }
}

/**
 * Whether a delta with a name begins a new call although its index is taken or missing, as with Gemini's parallel
 * calls.
 */
function isAnother(call: RawCall, known: OpenCall, seen: ReadonlySet<OpenCall>): boolean {
  if (call.name === '' || known.index === null) return false
  if (call.id !== '' && known.upstreamId !== '') return call.id !== known.upstreamId
  return call.upstreamIndex === null || seen.has(known)
}
