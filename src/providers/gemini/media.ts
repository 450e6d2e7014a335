import type { ChatMessage, ChatPart } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../../protocols/ports/upstream-request.ts'
import { readDataUrl } from '../wire/data-url.ts'

export type GeminiPart = Readonly<Record<string, unknown>>

const ADDRESS = /^(https?|gs):\/\//i
/** A file uploaded to Google, which knows its type. */
const UPLOADED = /^https:\/\/generativelanguage\.googleapis\.com\//i
const AUDIO_FORMAT = /^[a-z0-9.+-]{1,32}$/i
const AUDIO_TYPES: ReadonlyMap<string, string> = new Map([
  ['pcm16', 'audio/L16;rate=24000'],
  ['m4a', 'audio/mp4'],
  ['mpeg', 'audio/mp3'],
])
/** The provider requires the media type, and nobody fetches the address to find it. */
const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['png', 'image/png'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['bmp', 'image/bmp'],
  ['mp4', 'video/mp4'],
  ['mpeg', 'video/mpeg'],
  ['mpg', 'video/mpeg'],
  ['mov', 'video/quicktime'],
  ['avi', 'video/x-msvideo'],
  ['flv', 'video/x-flv'],
  ['webm', 'video/webm'],
  ['wmv', 'video/wmv'],
  ['3gp', 'video/3gpp'],
  ['mp3', 'audio/mp3'],
  ['wav', 'audio/wav'],
  ['aac', 'audio/aac'],
  ['ogg', 'audio/ogg'],
  ['flac', 'audio/flac'],
  ['aiff', 'audio/aiff'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['html', 'text/html'],
  ['csv', 'text/csv'],
  ['xml', 'text/xml'],
  ['json', 'application/json'],
])

/** The content of a message as parts. Empty text is left out: in most places the protocol refuses it. */
export function partsOf(content: ChatMessage['content'], path: string): GeminiPart[] {
  if (content === null) return []
  if (typeof content === 'string') return textParts(content)
  return content.flatMap((part, index) => contentParts(part, `${path}.content[${index}]`))
}

export function textParts(text: string): GeminiPart[] {
  return text === '' ? [] : [{ text }]
}

function contentParts(part: ChatPart, path: string): GeminiPart[] {
  switch (part.type) {
    case 'text':
      return textParts(part.text)
    case 'refusal':
      return textParts(part.refusal)
    case 'image_url':
      return [mediaPart(part.image_url.url, 'image/jpeg', `${path}.image_url.url`)]
    case 'video_url':
      return [mediaPart(part.video_url.url, 'video/mp4', `${path}.video_url.url`)]
    case 'file':
      return [
        mediaPart(
          part.file.file_data,
          typeByName(part.file.filename ?? '') ?? 'application/pdf',
          `${path}.file.file_data`,
        ),
      ]
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

/** `usual` is the type when neither the data URL nor the address names one. */
function mediaPart(url: string, usual: string, path: string): GeminiPart {
  if (ADDRESS.test(url))
    return { fileData: { ...(UPLOADED.test(url) ? {} : { mimeType: typeByAddress(url) ?? usual }), fileUri: url } }
  const found = readDataUrl(url, path)
  if (found === null) throw new UnsendableError(`${path}: must be an http or https address or a data URL`)
  return { inlineData: { mimeType: found.mediaType || usual, data: found.data } }
}

function typeByAddress(url: string): string | undefined {
  return URL.canParse(url) ? typeByName(new URL(url).pathname) : undefined
}

function typeByName(name: string): string | undefined {
  return EXTENSIONS.get((/\.([a-z0-9]+)$/i.exec(name)?.[1] ?? '').toLowerCase())
}

function audioType(format: string, path: string): string {
  if (!AUDIO_FORMAT.test(format))
    throw new UnsendableError(`${path}: must be the name of an audio format, such as 'wav' or 'mp3'`)
  return AUDIO_TYPES.get(format.toLowerCase()) ?? `audio/${format.toLowerCase()}`
}
