import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { ApiFailure } from '../../api/call.ts'
import { parametersBody, type Parameters } from './ChatParameters.tsx'
import { costOf, fieldOf, isStop, listOf, playgroundCall } from './playground-call.ts'

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly reasoning: string
  /** RUB; null = not known yet. */
  readonly cost: number | null
  readonly tokens: { readonly input: number; readonly output: number } | null
}

export interface Conversation {
  readonly turns: readonly Turn[]
  readonly failure: unknown
  readonly busy: boolean
  readonly ask: (text: string, parameters: Parameters) => void
  readonly stop: () => void
  readonly clear: () => void
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
  const ask = async (text: string, parameters: Parameters): Promise<void> => {
    const asked = [...turns, newTurn('user', text.trim())]
    setTurns([...asked, newTurn('assistant', '')])
    setFailure(null)
    setBusy(true)
    const controller = new AbortController()
    running.current = controller
    try {
      const body = {
        model,
        stream: true,
        stream_options: { include_usage: true },
        ...parametersBody(parameters),
        messages: messagesOf(asked, parameters.system),
      }
      const response = await playgroundCall(keyId, 'chat/completions', body, controller.signal)
      if (response.body !== null)
        for await (const piece of chatPieces(response.body)) change((last) => withPiece(last, piece))
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
    ask: (text, parameters) => void ask(text, parameters),
    stop: () => running.current?.abort(),
    clear: () => setTurns([]),
  }
}

function newTurn(role: Turn['role'], text: string): Turn {
  return { role, text, reasoning: '', cost: null, tokens: null }
}

function messagesOf(turns: readonly Turn[], system: string): readonly { role: string; content: string }[] {
  return [
    ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
    ...turns.map(({ role, text: content }) => ({ role, content })),
  ]
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
