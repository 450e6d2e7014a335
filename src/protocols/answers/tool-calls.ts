import type { AnswerEvent } from '../../kinds/answer/event.ts'
import { argumentsText, legacyCall } from '../openai/provider/delta.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { UnsendableError } from '../ports/call.ts'
import { BODY_LIMITS, JsonScan, type JsonLimits } from '../../base/json-scan.ts'

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/
const WITH_STATE = 'gc_'
/** The length of 16 bytes in base64. */
const STATE_LENGTH = 22

/**
 * An id for a tool call whose upstream gave none, unique in the conversation, since clients send it back. `state` is
 * GigaChat's `functions_state_id`. The id carries it, because it is the only part of a call that clients of every
 * protocol send back. Some services accept ids of at most 40 characters.
 */
export function toolCallId(generationId: string, choice: number, index: number, state: string | null = null): string {
  const own = generationId.split('-').at(-1) ?? ''
  if (state === null || !UUID.test(state)) return `call_${own}_${choice}_${index}`
  return `${WITH_STATE}${Buffer.from(state.replaceAll('-', ''), 'hex').toString('base64url')}_${own.slice(-10)}${index}`
}

/** The `functions_state_id` in the id of a call; null = it has none. */
export function functionsState(id: string): string | null {
  const [from, to] = [WITH_STATE.length, WITH_STATE.length + STATE_LENGTH]
  const bytes = Buffer.from(id.slice(from, to), 'base64url')
  if (!id.startsWith(WITH_STATE) || id[to] !== '_' || bytes.length !== 16) return null
  const hex = bytes.toString('hex')
  return [0, 8, 12, 16, 20].map((at, part, all) => hex.slice(at, all[part + 1])).join('-')
}

/** Far more calls than any real answer has: a bound on what a broken upstream makes us hold in memory. */
const CALLS_MAX = 256
/** The most characters of arguments whose call has no name yet. */
const WAITING_CHARS_MAX = 1_048_576

interface OpenCall {
  readonly upstreamId: string
  /** null = the call has no name yet, and the client has not got it. */
  index: number | null
  /** Arguments that came before the name. */
  waiting: string
}

interface RawCall {
  readonly upstreamIndex: number | null
  readonly id: string
  readonly name: string
  readonly text: string
  readonly state: string | null
}

/**
 * The tool calls of one choice. Each opens once, and then its arguments follow; a call without a name cannot be opened.
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

  /** The events of one upstream delta; null = no real answer has so many calls, or so many arguments without a name. */
  read(delta: RawJson): readonly AnswerEvent[] | null {
    const calls = listOf(delta['tool_calls']).map((raw) => readCall(raw))
    const legacy = legacyCall(delta)
    if (legacy !== null) calls.push({ ...legacy, upstreamIndex: 0, id: '', text: legacy.arguments })
    const events: AnswerEvent[] = []
    const seen = new Set<OpenCall>()
    for (const call of calls) {
      // Some dialects send every field, with empty values.
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

  #add(events: AnswerEvent[], open: OpenCall, { id, name, text, state }: RawCall): void {
    const choice = this.#choice
    if (open.index === null && name === '') {
      open.waiting += text
      this.#waitingChars += text.length
      return
    }
    if (open.index === null) {
      open.index = this.#count
      this.#count += 1
      const given = open.upstreamId || id || toolCallId(this.#generationId, choice, open.index, state)
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
    state: null,
  }
}

/**
 * Whether a delta with a name begins a new call although its index is taken or missing, as Gemini's parallel calls do.
 */
function isAnother(call: RawCall, known: OpenCall, seen: ReadonlySet<OpenCall>): boolean {
  if (call.name === '' || known.index === null) return false
  if (call.id !== '' && known.upstreamId !== '') return call.id !== known.upstreamId
  return call.upstreamIndex === null || seen.has(known)
}

/** Arguments are a string in their body, which its scan does not look into. */
const ARGUMENTS_LIMITS = { ...BODY_LIMITS, commas: 100_000 }

/**
 * The arguments of a tool call as the object that the protocol requires; some models send null for a tool without
 * parameters. Invalid JSON, such as that of a call that was cut, becomes one value.
 */
export function toolInput(text: string, path: string): RawJson {
  if (['', 'null'].includes(text.trim())) return {}
  if (isBomb(text, ARGUMENTS_LIMITS)) throw new UnsendableError(`${path}: is nested too deep or holds too many values`)
  return objectOf(parsed(text)) ?? { arguments: text }
}

/** Some models send null for a tool without parameters; invalid JSON, or JSON beyond the limits, becomes one value. */
export function inputOf(text: string): RawJson {
  const input = isBomb(text, BODY_LIMITS) ? undefined : parsed(text)
  return input === undefined ? { arguments: text } : (objectOf(input) ?? {})
}

function isBomb(text: string, limits: JsonLimits): boolean {
  return new JsonScan(limits).whole(Buffer.from(text)) !== null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
