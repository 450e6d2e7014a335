import { ApiFailure } from '../../api/call.ts'
import { costOf, fieldOf, listOf } from './playground-call.ts'

/** The content of a stream, piece by piece. */
export type ChatPiece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'usage'; readonly cost: number | null; readonly input: number; readonly output: number }

/** Reads the events of a streamed chat answer. An error inside the stream is thrown as one. */
export async function* chatPieces(body: ReadableStream<Uint8Array>): AsyncGenerator<ChatPiece> {
  for await (const data of eventData(body)) {
    if (data === '[DONE]') return
    const chunk: unknown = JSON.parse(data)
    const error = fieldOf(chunk, 'error')
    if (error !== undefined && error !== null)
      throw new ApiFailure(
        Number(fieldOf(error, 'code') ?? 0),
        String(fieldOf(fieldOf(error, 'metadata'), 'error_type') ?? 'unknown'),
        String(fieldOf(error, 'message')),
        null,
      )
    const delta = fieldOf(listOf(fieldOf(chunk, 'choices'))[0], 'delta')
    const reasoning = fieldOf(delta, 'reasoning')
    const text = fieldOf(delta, 'content')
    if (typeof reasoning === 'string' && reasoning !== '') yield { type: 'reasoning', text: reasoning }
    if (typeof text === 'string' && text !== '') yield { type: 'text', text }
    const usage = fieldOf(chunk, 'usage')
    if (usage !== undefined && usage !== null)
      yield {
        type: 'usage',
        cost: costOf(chunk),
        input: Number(fieldOf(usage, 'prompt_tokens') ?? 0),
        output: Number(fieldOf(usage, 'completion_tokens') ?? 0),
      }
  }
}

/** The `data:` of each server-sent event. */
async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (rest + value).split(/\r?\n/)
      rest = lines.pop() ?? ''
      for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim()
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
