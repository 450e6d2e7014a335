import assert from 'node:assert/strict'
import { request } from 'undici'

/** A parsed answer; a test that reads a field which is not there fails by itself. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** An answer of `generateContent` as its client sees it, streamed or not. */
export interface FoldedContent {
  readonly status: number
  readonly error: Json
  readonly text: string
  readonly thoughts: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: unknown }[]
  /** Signatures of the parts, with the name of the call that a part holds. */
  readonly signatures: readonly (readonly [call: string | null, signature: string])[]
  /** Every finish reason: one, in the last chunk, except for an old provider that gives one with each. */
  readonly finishes: readonly string[]
  readonly usage: Json
  readonly model: string
  /** All parts in their order, as a client sends them back. */
  readonly parts: readonly Json[]
  readonly headers: Readonly<Record<string, unknown>>
  readonly raw: string
}

export type Framing = 'whole' | 'sse' | 'array'

/** Sends a request and folds the answer. A stream is checked for everything that clients rely on. */
export async function generate(
  url: string,
  key: string,
  model: string,
  framing: Framing,
  body: Record<string, unknown>,
): Promise<FoldedContent> {
  const word = framing === 'whole' ? 'generateContent' : 'streamGenerateContent'
  const answer = await request(`${url}/v1beta/models/${model}:${word}${framing === 'sse' ? '?alt=sse' : ''}`, {
    method: 'POST',
    headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const raw = await answer.body.text()
  const chunks = chunksOf(raw, answer.statusCode === 200 ? framing : 'whole')
  const last = chunks.at(-1)
  const firsts: readonly Json[] = chunks.flatMap(({ candidates = [] }) =>
    candidates.filter(({ index = 0 }: Json) => index === 0),
  )
  const parts = firsts.flatMap(({ content }) => content?.parts ?? [])
  const joined = (isThought: boolean): string =>
    parts.flatMap(({ text = '', thought = false }) => (thought === isThought ? [text] : [])).join('')
  return {
    status: answer.statusCode,
    error: last.error ?? null,
    text: joined(false),
    thoughts: joined(true),
    calls: parts.flatMap(({ functionCall: call }) => (call === undefined ? [] : [call])),
    signatures: parts.flatMap(({ functionCall: call, thoughtSignature: signature }) =>
      signature === undefined ? [] : [[call?.name ?? null, signature] as const],
    ),
    finishes: firsts.flatMap(({ finishReason }) => (finishReason === undefined ? [] : [finishReason])),
    usage: last.usageMetadata ?? null,
    model: last.modelVersion ?? '',
    parts,
    headers: answer.headers,
    raw,
  }
}

export function chunksOf(raw: string, framing: Framing): readonly Json[] {
  if (framing === 'sse') {
    const blocks = raw.split('\n\n').filter((block) => block.trim() !== '')
    for (const block of blocks) assert.match(block, /^\s*data: \{/)
    return blocks.map((block) => JSON.parse(block.trim().slice('data: '.length)))
  }
  const parsed = JSON.parse(raw)
  assert.equal(Array.isArray(parsed), framing === 'array', raw)
  return framing === 'array' ? parsed : [parsed]
}
