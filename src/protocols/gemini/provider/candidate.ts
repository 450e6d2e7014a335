import { SILENT, type AnswerEvent } from '../../../kinds/answer/event.ts'
import { namedReason } from '../../../kinds/answer/end.ts'
import { isBlank } from '../../../kinds/answer/progress.ts'
import { signatureDetail, type SearchBilling } from '../../models/gemini-traits.ts'
import { markedText } from '../../../kinds/answer/provenance.ts'
import type { FinishReason } from '../../../kinds/chat/answer.ts'
import type { JsonBytes } from '../../../base/json-text.ts'
import { listOf, objectOf, textOf, type RawJson } from '../../wire/raw-json.ts'
import { toolCallId } from '../../answers/tool-calls.ts'
import { logprobsOf } from './logprobs.ts'

type Leaf = string | number | boolean | null
type Branch = Map<string, Node> | Node[]
type Node = Leaf | Branch

const NAME = /\.([^.[\]]+)/y
const INDEX = /\[(\d{1,6})\]/y
const STEPS_MAX = 64
const PATH_CHARS_MAX = 4_096
const CHARS_MAX = 4_194_304

/**
 * The arguments of a call that comes in pieces. Each piece has the JSON path of its value; a string continues where it
 * stopped.
 */
export class PartialArguments {
  readonly #root: Branch = new Map()
  #chars = 0

  /** false = the pieces do not form one object, or are more than any real call has. */
  add(partialArgs: unknown): boolean {
    for (const raw of listOf(partialArgs)) {
      const piece = objectOf(raw) ?? {}
      const path = textOf(piece['jsonPath']) ?? ''
      const value = leafOf(piece)
      this.#chars += path.length + (typeof value === 'string' ? value.length : 8)
      const steps = stepsOf(path)
      if (steps === null || this.#chars > CHARS_MAX || !this.#set(steps, value)) return false
    }
    return true
  }

  text(): string {
    const parts: string[] = []
    write(this.#root, parts)
    return parts.join('')
  }

  #set(steps: readonly (string | number)[], value: Leaf): boolean {
    let parent = this.#root
    for (const [position, step] of steps.entries()) {
      const known = childOf(parent, step)
      const next = steps[position + 1]
      if (next === undefined)
        return put(parent, step, typeof known === 'string' && typeof value === 'string' ? known + value : value)
      const child =
        known instanceof Map || Array.isArray(known) ? known : typeof next === 'number' ? [] : new Map<string, Node>()
      if (child !== known && !put(parent, step, child)) return false
      parent = child
    }
    return true
  }
}

function leafOf(piece: Readonly<Record<string, unknown>>): Leaf {
  const { stringValue, numberValue, boolValue } = piece
  if (typeof stringValue === 'string') return stringValue
  if (typeof numberValue === 'number') return numberValue
  return typeof boolValue === 'boolean' ? boolValue : null
}

/** The steps of a path such as `$.a.b[0]['c d']`; null for an invalid path or the root itself. */
function stepsOf(path: string): readonly (string | number)[] | null {
  if (!path.startsWith('$') || path.length > PATH_CHARS_MAX) return null
  const steps: (string | number)[] = []
  for (let at = 1; at < path.length;) {
    const found = stepAt(path, at)
    if (found === null || steps.length === STEPS_MAX) return null
    steps.push(found.step)
    at = found.end
  }
  return steps.length > 0 ? steps : null
}

function stepAt(path: string, at: number): { readonly step: string | number; readonly end: number } | null {
  const quote = path[at + 1]
  if (path[at] === '[' && (quote === "'" || quote === '"')) {
    const close = path.indexOf(`${quote}]`, at + 2)
    return close === -1 ? null : { step: path.slice(at + 2, close), end: close + 2 }
  }
  const name = matchAt(NAME, path, at)
  if (name !== null) return { step: name, end: at + 1 + name.length }
  const index = matchAt(INDEX, path, at)
  return index === null ? null : { step: Number(index), end: at + 2 + index.length }
}

function matchAt(sticky: RegExp, path: string, at: number): string | null {
  sticky.lastIndex = at
  return sticky.exec(path)?.[1] ?? null
}

function childOf(parent: Branch, step: string | number): Node | undefined {
  return parent instanceof Map ? parent.get(String(step)) : typeof step === 'number' ? parent[step] : undefined
}

/** A list grows by one item at a time: a far index would only cost memory. */
function put(parent: Branch, step: string | number, node: Node): boolean {
  if (parent instanceof Map) parent.set(String(step), node)
  else if (typeof step === 'number' && step <= parent.length) parent[step] = node
  else return false
  return true
}

/** Collects all parts in one list: joining strings at each level would copy them once per level. */
function write(node: Node, parts: string[]): void {
  if (node === null || typeof node !== 'object') {
    parts.push(JSON.stringify(node))
    return
  }
  const isMap = node instanceof Map
  let separator = isMap ? '{' : '['
  for (const [name, child] of node.entries()) {
    parts.push(isMap ? `${separator}${JSON.stringify(name)}:` : separator)
    separator = ','
    write(child, parts)
  }
  if (separator !== ',') parts.push(separator)
  parts.push(isMap ? '}' : ']')
}

/** Far more than any real answer has: bounds on what a broken upstream makes us hold in memory. */
const CALLS_MAX = 256
const SOURCES_MAX = 1_024
const QUERIES_MAX = 128
const QUERY_CHARS_MAX = 4_096
/** Reasons of this protocol that the common table lacks. A call of an undeclared tool must not be run. */
const FINISHES: ReadonlyMap<string, FinishReason> = new Map([
  ...['MODEL_ARMOR', 'IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION'].map(
    (native) => [native, 'content_filter'] as const,
  ),
  ...[
    'UNEXPECTED_TOOL_CALL',
    'TOO_MANY_TOOL_CALLS',
    'MISSING_THOUGHT_SIGNATURE',
    'MALFORMED_RESPONSE',
    'LANGUAGE',
    'NO_IMAGE',
    'IMAGE_OTHER',
  ].map((native) => [native, 'error'] as const),
])

/** The request's settings for what the client sees. */
export interface CandidateView {
  readonly generationId: string
  /** How many candidates the request asks for. */
  readonly candidates: number
  readonly hidesReasoning: boolean
  /** The provider whose mark its signatures get; null = none. */
  readonly signer: string | null
  /** How the provider bills the searches of this answer; null = the request allows none. */
  readonly billsSearch: SearchBilling | null
}

/** One candidate of an answer, as events; each piece of a stream has the form of a whole candidate. */
export class Candidate {
  readonly #view: CandidateView
  readonly #choice: number
  readonly #sources = new Set<string>()
  readonly #queries = new Set<string>()
  #events: AnswerEvent[] = []
  #calls = 0
  #lastCallId: string | null = null
  #details = 0
  #open: PartialArguments | null = null
  #audio: Buffer | null = null
  #finished = false
  #isBroken = false

  constructor(view: CandidateView, choice: number) {
    this.#view = view
    this.#choice = choice
  }

  get finished(): boolean {
    return this.#finished
  }

  /** Its distinct web searches: Google bills neither blank nor repeated ones. */
  get queries(): ReadonlySet<string> {
    return this.#queries
  }

  get hasSearched(): boolean {
    return this.#queries.size > 0 || this.#sources.size > 0
  }

  /**
   * `lifted`: the probabilities, each replaced by its index. null = more than any real answer has, or pieces of a call
   * that do not fit together.
   */
  read(raw: RawJson, lifted: readonly JsonBytes[]): readonly AnswerEvent[] | null {
    this.#events = []
    for (const part of listOf(objectOf(raw['content'])?.['parts'])) this.#part(objectOf(part) ?? {})
    this.#logprobs(logprobsOf(raw['logprobsResult'], lifted))
    this.#grounding(objectOf(raw['groundingMetadata']))
    const native = namedReason(raw['finishReason'])
    if (native !== null) this.#finish(native)
    return this.#isBroken ? null : this.#events
  }

  /** The answer ended without a reason, which is allowed only in a plain answer. */
  close(): readonly AnswerEvent[] {
    this.#events = []
    if (!this.#finished) this.#finish(null)
    return this.#events
  }

  #part(part: RawJson): void {
    const text = textOf(part['text'])
    const called = objectOf(part['functionCall'])
    const inline = objectOf(part['inlineData'])
    const code = objectOf(part['executableCode'])
    const output = textOf(objectOf(part['codeExecutionResult'])?.['output'])
    const [before, at] = [this.#calls, this.#events.length]
    if (called !== null) this.#call(called)
    else if (text !== null) this.#text(text, part['thought'] === true)
    else if (inline !== null && part['thought'] !== true)
      this.#inline(textOf(inline['mimeType']) ?? '', textOf(inline['data']) ?? '')
    else if (code !== null)
      this.#text(fenced((textOf(code['language']) ?? '').toLowerCase(), textOf(code['code']) ?? ''), false)
    else if (output !== null) this.#text(fenced('', output), false)
    const signature = textOf(part['thoughtSignature'])
    if (signature === null || signature === '') return
    this.#signature(signature, called === null ? null : this.#lastCallId)
    // Thoughts come before the calls to which they led (wire.md D-2.4).
    const thought = called === null || before === this.#calls ? undefined : this.#events.pop()
    if (thought !== undefined) this.#events.splice(at, 0, thought)
  }

  #text(text: string, isThought: boolean): void {
    if (isThought && this.#view.hidesReasoning && text !== '') this.#silent()
    else this.#events.push({ type: isThought ? 'reasoning' : 'text', choice: this.#choice, text })
  }

  /** Adds progress without content. */
  #silent(): void {
    this.#events.push({ ...SILENT, choice: this.#choice })
  }

  /** A call comes whole; or its name comes first, and pieces without a name follow until one is marked as the last. */
  #call(called: RawJson): void {
    const name = textOf(called['name'])
    if (name !== null && name !== '') this.#openCall(name, textOf(called['id']))
    if (this.#open === null) {
      if (hasArguments(called)) this.#silent()
      return
    }
    if (!this.#open.add(called['partialArgs'])) this.#isBroken = true
    if (called['willContinue'] !== true) this.#closeCall(objectOf(called['args']))
    else if (hasArguments(called)) this.#silent()
  }

  #openCall(name: string, id: string | null): void {
    this.#closeCall(null)
    const index = this.#calls
    this.#calls += 1
    if (this.#calls > CALLS_MAX) this.#isBroken = true
    this.#open = new PartialArguments()
    this.#lastCallId = id || toolCallId(this.#view.generationId, this.#choice, index)
    this.#events.push({ type: 'tool_call', choice: this.#choice, index, id: this.#lastCallId, name })
  }

  #closeCall(args: RawJson | null): void {
    if (this.#open === null) return
    const text = args === null ? this.#open.text() : JSON.stringify(args)
    this.#open = null
    this.#events.push({ type: 'tool_arguments', choice: this.#choice, index: this.#calls - 1, text })
  }

  #signature(data: string, callId: string | null): void {
    this.#events.push({
      type: 'extra',
      choice: this.#choice,
      field: 'reasoning_details',
      value: [
        signatureDetail(this.#view.signer === null ? data : markedText(data, this.#view.signer), callId, this.#details),
      ],
    })
    this.#details += 1
  }

  #inline(mimeType: string, data: string): void {
    if (mimeType.startsWith('image/')) {
      const value = [{ type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` } }]
      this.#events.push({ type: 'extra', choice: this.#choice, field: 'images', value })
    } else if (mimeType.startsWith('audio/')) this.#sound(mimeType, Buffer.from(data, 'base64'))
  }

  /** Pieces of base64 can be joined only if each but the last has whole groups of three bytes. */
  #sound(mimeType: string, bytes: Buffer): void {
    const id =
      this.#audio === null
        ? { id: `audio_${this.#view.generationId.split('-').at(-1) ?? ''}_${this.#choice}`, format: mimeType }
        : {}
    const all = this.#audio === null ? bytes : Buffer.concat([this.#audio, bytes])
    const end = all.length - (all.length % 3)
    this.#audio = all.subarray(end)
    this.#events.push({
      type: 'extra',
      choice: this.#choice,
      field: 'audio',
      value: { ...id, data: all.subarray(0, end).toString('base64') },
    })
  }

  #logprobs(logprobs: unknown): void {
    if (logprobs === null) return
    const place = this.#events.findLastIndex((event) => event.type === 'text')
    const said = this.#events[place]
    const text = said?.type === 'text' ? said.text : ''
    this.#events.splice(place === -1 ? this.#events.length : place, 1, {
      type: 'text',
      choice: this.#choice,
      text,
      logprobs,
    })
  }

  /** Later pieces of a stream repeat earlier sources. */
  #grounding(metadata: RawJson | null): void {
    for (const raw of listOf(metadata?.['webSearchQueries'])) {
      const query = (textOf(raw) ?? '').trim().slice(0, QUERY_CHARS_MAX)
      if (query !== '' && this.#queries.size < QUERIES_MAX) this.#queries.add(query)
    }
    const annotations = listOf(metadata?.['groundingChunks']).flatMap((chunk) => {
      const web = objectOf(objectOf(chunk)?.['web'])
      const url = textOf(web?.['uri'])
      if (url === null || this.#sources.has(url) || this.#sources.size >= SOURCES_MAX) return []
      this.#sources.add(url)
      return [
        {
          type: 'url_citation',
          url_citation: { url, title: textOf(web?.['title']) ?? '', start_index: 0, end_index: 0 },
        },
      ]
    })
    if (annotations.length > 0)
      this.#events.push({ type: 'extra', choice: this.#choice, field: 'annotations', value: annotations })
  }

  #finish(native: string | null): void {
    this.#closeCall(null)
    if (this.#audio !== null && this.#audio.length > 0)
      this.#events.push({
        type: 'extra',
        choice: this.#choice,
        field: 'audio',
        value: { data: this.#audio.toString('base64') },
      })
    this.#audio = null
    this.#finished = true
    const finish = native === null ? undefined : FINISHES.get(native)
    this.#events.push({ type: 'finish', choice: this.#choice, native, ...(finish === undefined ? {} : { finish }) })
  }
}

function hasArguments(called: RawJson): boolean {
  return !isBlank(called['partialArgs']) || !isBlank(called['args'])
}

function fenced(language: string, text: string): string {
  return text === '' ? '' : `\n\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\n`
}
