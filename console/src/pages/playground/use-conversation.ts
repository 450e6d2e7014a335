import { useState } from 'react'
import { ApiFailure } from '../../api/call.ts'
import { costOf, fieldOf, listOf, playgroundCall, useRun } from './run.tsx'

export const NUMBERS = [
  { name: 'temperature', decimals: 4, least: 0, most: 2 },
  { name: 'top_p', decimals: 4, least: 0, most: 1 },
  { name: 'max_tokens', decimals: 0, least: 1, most: 10_000_000 },
  { name: 'frequency_penalty', decimals: 4, least: -2, most: 2 },
  { name: 'presence_penalty', decimals: 4, least: -2, most: 2 },
  { name: 'seed', decimals: 0, least: -2_147_483_648, most: 2_147_483_647 },
] as const
type NumberName = (typeof NUMBERS)[number]['name']

export interface Parameters {
  readonly system: string
  /** Empty = the model's default. */
  readonly numbers: Readonly<Partial<Record<NumberName, string>>>
}

export const NO_PARAMETERS: Parameters = { system: '', numbers: {} }

function parametersBody({ numbers }: Parameters): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(numbers)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => [name, Number(value)]),
  )
}

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly reasoning: string
  readonly speed: Speed | null
  /** RUB; null = not known yet. */
  readonly cost: number | null
  readonly tokens: { readonly input: number; readonly output: number } | null
  /** Of the request in the log, which has its bill; null = of a question, or not known yet. */
  readonly generation: string | null
}

/** Speed as measured by the browser. */
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
  /** Asks the last question again; null = there is none. */
  readonly again: ((parameters: Parameters) => void) | null
  /** Goes on with another conversation. */
  readonly open: (turns: readonly Turn[]) => void
  readonly stop: () => void
  readonly clear: () => void
}

export interface Message {
  readonly text: string
  readonly attachments: readonly Attachment[]
}

/** A conversation with a model. The last turn grows as its answer arrives. Leaving the page aborts the answer. */
export function useConversation(keyId: string, model: string): Conversation {
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const change = (edit: (last: Turn) => Turn): void =>
    setTurns((before) => before.map((turn, index) => (index === before.length - 1 ? edit(turn) : turn)))
  const run = useRun(async (signal, before: readonly Turn[], message: Message, parameters: Parameters) => {
    const asked = [...before, newTurn('user', message)]
    setTurns([...asked, newTurn('assistant', { text: '', attachments: [] })])
    const body = { ...chatBody(model, asked, parameters), stream: true, stream_options: { include_usage: true } }
    const startMs = performance.now()
    let firstMs: number | null = null
    const response = await playgroundCall(keyId, 'chat/completions', body, signal)
    const generation = response.headers.get('x-generation-id')
    change((last) => ({ ...last, generation }))
    if (response.body === null) return
    for await (const piece of chatPieces(response.body)) {
      const nowMs = performance.now() - startMs
      if (piece.type !== 'usage') firstMs ??= nowMs
      const speed = firstMs === null ? null : { firstMs, restMs: nowMs - firstMs }
      change((last) => ({ ...withPiece(last, piece), speed: piece.type === 'usage' ? last.speed : speed }))
    }
  })
  const asked = turns.findLastIndex(({ role }) => role === 'user')
  const question = turns[asked]
  const open = (wish: readonly Turn[]): void => {
    setTurns(wish)
    run.clear()
  }
  return {
    turns,
    failure: run.failure,
    busy: run.busy,
    ask: (message, parameters) => run.start(turns, message, parameters),
    again: question === undefined ? null : (parameters) => run.start(turns.slice(0, asked), question, parameters),
    open,
    stop: run.stop,
    clear: () => open([]),
  }
}

function newTurn(role: Turn['role'], { text, attachments }: Message): Turn {
  return {
    role,
    text: text.trim(),
    attachments,
    reasoning: '',
    speed: null,
    cost: null,
    tokens: null,
    generation: null,
  }
}

/** The body of a request; `base64Of` may return something else in place of a file's base64. */
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
      // A turn without text and files comes from an answer that failed.
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

/** Reads the events of a streamed chat answer. An error within the stream is thrown. */
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

/** A file of a message, in the form that the chat API takes. */
interface Attachment {
  readonly name: string
  readonly kind: AttachmentKind
  /** For example `image/png`. */
  readonly mediaType: string
  readonly base64: string
  readonly bytes: number
}

/** The modality that a model must accept. */
type AttachmentKind = 'image' | 'file' | 'audio'

/** Base64 makes a file a third larger, and a body has at most 10 MB. */
export const ATTACHED_BYTES_MAX = 7_000_000
/** The formats that the API describes by media type, or by extension if browsers have no media type for them. */
const TYPES = new Map<string, readonly [AttachmentKind, format?: string]>([
  ['image/png', ['image']],
  ['image/jpeg', ['image']],
  ['image/webp', ['image']],
  ['image/gif', ['image']],
  ['application/pdf', ['file']],
  ['audio/wav', ['audio']],
  ['audio/x-wav', ['audio', 'wav']],
  ['audio/mpeg', ['audio', 'mp3']],
  ['audio/mp3', ['audio']],
  ['audio/flac', ['audio']],
  ['audio/ogg', ['audio']],
  ['audio/mp4', ['audio', 'm4a']],
  ['audio/x-m4a', ['audio', 'm4a']],
])

/** The types for a file chooser, by the modalities that all of the models accept. */
export function acceptedTypes(modalities: ReadonlySet<string>): string {
  return [...TYPES]
    .filter(([, [kind]]) => modalities.has(kind))
    .map(([type]) => type)
    .join(',')
}

/** null = the models do not accept such a file. */
export async function attachmentOf(file: File, modalities: ReadonlySet<string>): Promise<Attachment | null> {
  const [kind] = TYPES.get(file.type) ?? []
  if (kind === undefined || !modalities.has(kind)) return null
  return { name: file.name, kind, mediaType: file.type, base64: await base64Of(file), bytes: file.size }
}

export async function base64Of(file: File): Promise<string> {
  const reader = new FileReader()
  const address = await new Promise<string>((resolve, reject) => {
    reader.addEventListener('load', () => resolve(String(reader.result)))
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The file cannot be read')))
    reader.readAsDataURL(file)
  })
  return address.slice(address.indexOf(',') + 1)
}

export function dataUrl({ mediaType, base64 }: Pick<Attachment, 'mediaType' | 'base64'>): string {
  return `data:${mediaType};base64,${base64}`
}

/** The message part for a file; `content` replaces its base64. */
function attachmentPart(attachment: Attachment, base64 = attachment.base64): object {
  const { kind, name, mediaType } = attachment
  const url = dataUrl({ mediaType, base64 })
  switch (kind) {
    case 'image':
      return { type: 'image_url', image_url: { url } }
    case 'file':
      return { type: 'file', file: { filename: name, file_data: url } }
    case 'audio':
      return {
        type: 'input_audio',
        input_audio: { data: base64, format: TYPES.get(mediaType)?.[1] ?? mediaType.slice(6) },
      }
  }
}
