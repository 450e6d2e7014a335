import type { ChatMessage, ChatPart } from '../../../kinds/chat/request.ts'
import { GEMINI_REASONING, type GeminiTraits } from '../../models/gemini-traits.ts'
import { ownThought } from '../../../kinds/answer/provenance.ts'
import { UnsendableError } from '../../ports/call.ts'
import { CONTINUE, type TurnForm, addTurn, isPrefilled, resultsFirst, turnsOf } from '../../models/turns.ts'
import { toolInput } from '../../answers/tool-calls.ts'
import { objectOf, textOf } from '../../wire/raw-json.ts'
import { dataOf, typeOfAddress, typeWithin, type DataUrl, type MediaUrl } from '../../../kinds/fields/media.ts'

type GeminiPart = Readonly<Record<string, unknown>>

const ADDRESS = /^(https?|gs):\/\//i
const AUDIO_FORMAT = /^[a-z0-9.+-]{1,32}$/i
const AUDIO_TYPES: ReadonlyMap<string, string> = new Map([
  ['pcm16', 'audio/L16;rate=24000'],
  ['m4a', 'audio/mp4'],
  ['mpeg', 'audio/mp3'],
])

/** The content of a message as parts. Empty text is left out, since in most places the protocol refuses it. */
function partsOf(content: ChatMessage['content'], path: string): GeminiPart[] {
  if (content === null) return []
  if (typeof content === 'string') return textParts(content)
  return content.flatMap((part, index) => contentParts(part, `${path}.content[${index}]`))
}

function textParts(text: string): GeminiPart[] {
  return text === '' ? [] : [{ text }]
}

function contentParts(part: ChatPart, path: string): GeminiPart[] {
  switch (part.type) {
    case 'text':
      return textParts(part.text)
    case 'refusal':
      return textParts(part.refusal)
    case 'image_url':
      return [mediaPart('image', part.image_url.url, 'image/jpeg', `${path}.image_url.url`)]
    case 'video_url':
      return [mediaPart('video', part.video_url.url, 'video/mp4', `${path}.video_url.url`)]
    case 'audio_url':
      return [mediaPart('audio', part.audio_url.url, 'audio/mp3', `${path}.file.file_data`)]
    case 'file':
      return [documentPart(part.file.file_data, `${path}.file.file_data`)]
    case 'input_audio':
      return [
        {
          inlineData: {
            mimeType: audioType(part.input_audio.format, `${path}.input_audio.format`),
            data: part.input_audio.data,
          },
        },
      ]
  }
}

/**
 * A part with its type, so that the provider does not judge by what it fetches; `usual` is the type of a file that
 * names none.
 */
function mediaPart<Kind extends string>(
  kind: Kind,
  url: MediaUrl<Kind>,
  usual: `${Kind}/${string}`,
  path: string,
): GeminiPart {
  const found = dataOf(url)
  return sentPart(found, { url, mimeType: found?.mediaType ?? typeWithin(kind, url) ?? usual }, path)
}

function documentPart(url: string, path: string): GeminiPart {
  const found = dataOf(url)
  const type = found === null ? typeOfAddress(url) : found.mediaType
  return sentPart(found, { url, mimeType: type || 'application/pdf' }, path)
}

function sentPart(
  found: DataUrl | null,
  { url, mimeType }: { readonly url: string; readonly mimeType: string },
  path: string,
): GeminiPart {
  if (found !== null) return { inlineData: { mimeType, data: found.data } }
  if (ADDRESS.test(url)) return { fileData: { mimeType, fileUri: url } }
  throw new UnsendableError(`${path}: must be an http or https address or a data URL in base64`)
}

function audioType(format: string, path: string): string {
  if (!AUDIO_FORMAT.test(format))
    throw new UnsendableError(`${path}: must be the name of an audio format, such as 'wav' or 'mp3'`)
  return AUDIO_TYPES.get(format.toLowerCase()) ?? `audio/${format.toLowerCase()}`
}

/** Google's value for a call that another provider made, or whose signature the client has lost. */
export const NO_SIGNATURE = 'skip_thought_signature_validator'
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

export interface GeminiConversation {
  readonly system: readonly GeminiPart[]
  readonly contents: readonly { readonly role: string; readonly parts: readonly GeminiPart[] }[]
}

/** `signer`: whose signatures of earlier turns can be read again. */
export function conversationOf(
  messages: readonly ChatMessage[],
  { needsSignatures, takesPrefill }: Pick<GeminiTraits, 'needsSignatures' | 'takesPrefill'>,
  signer: string | null,
): GeminiConversation {
  const toolNames = new Map<string, string>()
  const form: TurnForm<GeminiPart> = {
    content: partsOf,
    assistant: (message, path) => {
      for (const { id, function: called } of message.tool_calls ?? []) toolNames.set(id, called.name)
      return assistantParts(message, { needsSignatures, signer }, path)
    },
    result: (message, path) => toolResult(message, toolNames, path),
    isText: (part) => part['text'] !== undefined,
    isResult: (part) => part['functionResponse'] !== undefined,
    missing: 'have content',
  }
  const { system, turns } = turnsOf(messages, form)
  if (!takesPrefill && isPrefilled(messages)) addTurn(turns, 'user', textParts(CONTINUE))
  const contents = turns.map(({ role, parts }) => ({
    role: role === 'assistant' ? 'model' : role,
    parts: resultsFirst(parts, form),
  }))
  return { system, contents }
}

/** The parts of the model's turn. Reasoning is not sent back: the provider needs only its signatures. */
function assistantParts(
  message: ChatMessage,
  { needsSignatures, signer }: { readonly needsSignatures: boolean; readonly signer: string | null },
  path: string,
): readonly GeminiPart[] {
  const { content, refusal = '', reasoning_details: details = [], tool_calls: calls = [] } = message
  const { ofCalls, ofText } = signaturesOf(details, signer)
  const said = partsOf(content, path)
  const parts = said.length === 0 ? textParts(refusal) : said
  const last = parts.at(-1)
  if (last !== undefined && last['text'] !== undefined && ofText !== null)
    parts.splice(-1, 1, { ...last, thoughtSignature: ofText })
  const isUnsigned = needsSignatures && !calls.some(({ id }) => ofCalls.has(id))
  const callParts = calls.map(({ id, function: called }, index) => {
    // Only the first of several parallel calls has a signature.
    const signature = ofCalls.get(id) ?? (isUnsigned && index === 0 ? NO_SIGNATURE : null)
    return {
      functionCall: {
        id,
        name: called.name,
        args: toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`),
      },
      ...(signature === null ? {} : { thoughtSignature: signature }),
    }
  })
  return [...parts, ...callParts]
}

/**
 * The result of a tool. Its media follow all results of the turn, each after the name of its call, as parts that every
 * model understands.
 */
function toolResult(message: ChatMessage, toolNames: ReadonlyMap<string, string>, path: string): readonly GeminiPart[] {
  const { tool_call_id: id = '', content, is_error: failed } = message
  const name = toolNames.get(id) ?? message.name
  if (name === undefined)
    throw new UnsendableError(
      `${path}.tool_call_id: no tool call before it has this id, and this provider needs the name of the tool`,
    )
  const parts = partsOf(content, path)
  const output = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n')
  const response = failed === true ? { error: output } : { output }
  const media = parts.filter(({ text }) => text === undefined)
  const head = media.length === 0 ? [] : [{ text: `Result of the call ${id}:` }]
  return [{ functionResponse: { id, name, response } }, ...head, ...media]
}

/** The thought signatures of one message, as the client sent them back. */
interface Signatures {
  /** Signatures by the id of the tool call. */
  readonly ofCalls: ReadonlyMap<string, string>
  /** The signature of the text; null = none. */
  readonly ofText: string | null
}

/** The signatures in reasoning details; those of another provider would be refused. */
function signaturesOf(details: readonly unknown[], signer: string | null): Signatures {
  const ofCalls = new Map<string, string>()
  let ofText: string | null = null
  for (const raw of details) {
    const detail = objectOf(raw)
    if (detail?.['type'] !== 'reasoning.encrypted' || detail['format'] !== GEMINI_REASONING) continue
    const data = ownThought(detail['data'], signer)
    if (data === null || !BASE64.test(data)) continue
    const id = textOf(detail['id'])
    if (id === null) ofText = data
    else ofCalls.set(id, data)
  }
  return { ofCalls, ofText }
}
