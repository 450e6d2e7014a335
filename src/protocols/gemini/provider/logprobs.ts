import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonBytes } from '../../../base/json-text.ts'
import { MORE, type LogprobsPlace, type LogprobsWriter } from '../../wire/lifted-logprobs.ts'
import { listOf, objectOf, textOf, type RawJson } from '../../wire/raw-json.ts'

/** The entries that are written before other requests get a turn: a few ms. */
const ENTRIES_A_TURN = 1_000
/** A bound on the written text: twice an answer of 16,000 tokens with 20 alternatives each. */
const WRITTEN_CHARS_MAX = 64 * 1_048_576

/** The place of `logprobsResult` in each candidate. */
export const GEMINI_LOGPROBS: LogprobsPlace = Object.freeze({
  answers: 'candidates',
  member: 'logprobsResult',
  writer: () => new LogprobsText(),
})

/** `logprobsResult` in the form of OpenAI's `logprobs`, or a lifted one by its index; null = there is none. */
export function logprobsOf(raw: unknown, lifted: readonly JsonBytes[]): unknown {
  if (typeof raw === 'number') return lifted[raw] ?? null
  const result = objectOf(raw)
  if (result === null) return null
  const tops = listOf(result['topCandidates'])
  const content = listOf(result['chosenCandidates']).map((chosen, index) => ({
    ...tokenOf(chosen),
    top_logprobs: topsOf(tops[index]),
  }))
  return content.length === 0 ? null : { content, refusal: null }
}

interface Token {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[]
}

function topsOf(raw: unknown): readonly Token[] {
  return listOf(objectOf(raw)?.['candidates']).map(tokenOf)
}

function tokenOf(raw: unknown): Token {
  const { token, logProbability }: RawJson = objectOf(raw) ?? {}
  const text = textOf(token) ?? ''
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  }
}

/** The same for a large answer, in which all chosen tokens come first and their alternatives follow. */
class LogprobsText implements LogprobsWriter {
  readonly #lists: ReadonlyMap<string, string[]> = new Map([
    ['chosenCandidates', []],
    ['topCandidates', []],
  ])
  #open: string = MORE
  #chars = 0

  add(piece: RawJson): boolean {
    for (const [name, value] of Object.entries(piece)) {
      if (name !== MORE) this.#open = name
      const written = this.#lists.get(this.#open)
      for (const entry of listOf(value)) {
        if (written === undefined || typeof entry === 'number') continue
        const text = JSON.stringify(this.#open === 'topCandidates' ? topsOf(entry) : tokenOf(entry))
        this.#chars += text.length
        written.push(text)
      }
    }
    return this.#chars <= WRITTEN_CHARS_MAX
  }

  async end(): Promise<Buffer | null> {
    const chosen = this.#lists.get('chosenCandidates') ?? []
    const tops = this.#lists.get('topCandidates') ?? []
    if (chosen.length === 0) return null
    const parts = [Buffer.from('{"content":[')]
    for (let from = 0; from < chosen.length; from += ENTRIES_A_TURN) {
      const entries = chosen
        .slice(from, from + ENTRIES_A_TURN)
        .map((text, index) => `${text.slice(0, -1)},"top_logprobs":${tops[from + index] ?? '[]'}}`)
      parts.push(Buffer.from(`${from === 0 ? '' : ','}${entries.join(',')}`))
      await nextTurn()
    }
    return Buffer.concat([...parts, Buffer.from('],"refusal":null}')])
  }
}
