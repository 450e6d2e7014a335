import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { ApiFailure } from '../../api/call.ts'
import { attachmentPart, type Attachment } from './attachments.ts'
import { parametersBody, type Parameters } from './ChatParameters.tsx'
import { costOf, fieldOf, isStop, listOf, playgroundCall } from './playground-call.ts'

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly reasoning: string
  readonly speed: Speed | null
  /** RUB; null = not known yet. */
  readonly cost: number | null
  readonly tokens: { readonly input: number; readonly output: number } | null
}

/** As the browser measures it. */
interface Speed {
  /** From the call to the first piece. */
  readonly firstMs: number
  /** From the first piece to the last one. */
  readonly restMs: number
}

export interface Conversation {
  readonly turns: readonly Turn[]
  readonly failure: unknown
  readonly busy: boolean
  readonly ask: (message: Message, parameters: Parameters) => void
  readonly stop: () => void
  readonly clear: () => void
}

export interface Message {
  readonly text: string
  readonly attachments: readonly Attachment[]
}

/** A conversation with a model. The last turn grows as its answer arrives. Leaving the page stops the answer. */
export function useConversation(keyId: string, model: string): Conversation {
  const client = useQueryClient()
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const [failure, setFailure] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const change = (edit: (last: Turn) => Turn): void =>
    setTurns((before) => before.map((turn, index) => (index === before.length - 1 ? edit(turn) : turn)))
  const ask = async (message: Message, parameters: Parameters): Promise<void> => {
    const asked = [...turns, newTurn('user', message)]
    setTurns([...asked, newTurn('assistant', { text: '', attachments: [] })])
    setFailure(null)
    setBusy(true)
    const controller = new AbortController()
    running.current = controller
    try {
      const body = { ...chatBody(model, asked, parameters), stream: true, stream_options: { include_usage: true } }
      const startMs = performance.now()
      let firstMs: number | null = null
      const response = await playgroundCall(keyId, 'chat/completions', body, controller.signal)
      if (response.body !== null)
        for await (const piece of chatPieces(response.body)) {
          const nowMs = performance.now() - startMs
          if (piece.type !== 'usage') firstMs ??= nowMs
          const speed = firstMs === null ? null : { firstMs, restMs: nowMs - firstMs }
          change((last) => ({ ...withPiece(last, piece), speed: piece.type === 'usage' ? last.speed : speed }))
        }
    } catch (thrown) {
      if (!isStop(thrown)) setFailure(thrown)
    }
    setBusy(false)
    await client.invalidateQueries({ queryKey: ['GET /cabinet/v1/summary'] })
  }
  return {
    turns,
    failure,
    busy,
    ask: (message, parameters) => void ask(message, parameters),
    stop: () => running.current?.abort(),
    clear: () => {
      setTurns([])
      setFailure(null)
    },
  }
}

function newTurn(role: Turn['role'], { text, attachments }: Message): Turn {
  return { role, text: text.trim(), attachments, reasoning: '', speed: null, cost: null, tokens: null }
}

/** The body of a request; `base64Of` may put something else in the place of a file. */
export function chatBody(
  model: string,
  turns: readonly (Message & Pick<Turn, 'role'>)[],
  parameters: Parameters,
  base64Of: (attachment: Attachment) => string = ({ base64 }) => base64,
): Readonly<Record<string, unknown>> {
  const { system } = parameters
  return {
    model,
    ...parametersBody(parameters),
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      // A turn without text and files is an answer that failed.
      ...turns
        .filter(({ text, attachments }) => text !== '' || attachments.length > 0)
        .map(({ role, text, attachments }) => ({
          role,
          content:
            attachments.length === 0
              ? text
              : [
                  ...(text === '' ? [] : [{ type: 'text', text }]),
                  ...attachments.map((attachment) => attachmentPart(attachment, base64Of(attachment))),
                ],
        })),
    ],
  }
}

function withPiece(turn: Turn, piece: ChatPiece): Turn {
  switch (piece.type) {
    case 'text':
      return { ...turn, text: turn.text + piece.text }
    case 'reasoning':
      return { ...turn, reasoning: turn.reasoning + piece.text }
    case 'usage':
      return { ...turn, cost: piece.cost, tokens: { input: piece.input, output: piece.output } }
  }
}

/** The content of a stream, piece by piece. */
type ChatPiece =
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
