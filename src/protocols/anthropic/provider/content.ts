import type { ChatMessage, ChatPart } from '../../../kinds/chat/request.ts'
import { dataOf, type DataUrl, type MediaUrl } from '../../../kinds/fields/media.ts'
import { UnsendableError } from '../../ports/upstream-request.ts'
import { markedTtl } from '../../models/claude-cache-marks.ts'

export type AnthropicBlock = Readonly<Record<string, unknown>>

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** The content of a message as blocks. Text that is only white space is left out: the protocol refuses it. */
export function contentBlocks(content: ChatMessage['content'], path: string): AnthropicBlock[] {
  if (content === null) return []
  if (typeof content === 'string') return textBlocks(content, undefined, path)
  return content.flatMap((part, index) => partBlocks(part, `${path}.content[${index}]`))
}

function partBlocks(part: ChatPart, path: string): AnthropicBlock[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text, part.cache_control, path)
    case 'refusal':
      return textBlocks(part.refusal, undefined, path)
    case 'image_url':
      return [
        {
          type: 'image',
          source: imageSource(part.image_url.url, `${path}.image_url.url`),
          ...cacheMark(part.cache_control, path),
        },
      ]
    case 'file':
      return [documentBlock(part.file, `${path}.file.file_data`)]
    case 'input_audio':
    case 'audio_url':
    case 'video_url':
      throw new UnsendableError(`${path}: this provider takes no ${part.type === 'video_url' ? 'video' : 'audio'}`)
  }
}

function textBlocks(text: string, cacheControl: unknown, path: string): AnthropicBlock[] {
  return text.trim() === '' ? [] : [{ type: 'text', text, ...cacheMark(cacheControl, path) }]
}

function cacheMark(raw: unknown, path: string): { cache_control?: AnthropicBlock } {
  const ttl = markedTtl(raw, path)
  if (ttl === undefined) return {}
  return { cache_control: ttl === null ? { type: 'ephemeral' } : { type: 'ephemeral', ttl } }
}

function imageSource(url: MediaUrl<'image'>, path: string): AnthropicBlock {
  if (isWebUrl(url)) return { type: 'url', url }
  const { mediaType, data } = dataUrl(url, path)
  if (!IMAGE_TYPES.has(mediaType)) throw new UnsendableError(`${path}: must be a JPEG, PNG, GIF or WebP image`)
  return { type: 'base64', media_type: mediaType, data }
}

function documentBlock(
  { filename, file_data: file }: { readonly filename?: string; readonly file_data: string },
  path: string,
): AnthropicBlock {
  const title = filename === undefined || filename === '' ? {} : { title: filename }
  if (isWebUrl(file)) return { type: 'document', source: { type: 'url', url: file }, ...title }
  const { mediaType, data } = dataUrl(file, path)
  if (mediaType === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type: mediaType, data }, ...title }
  if (mediaType === 'text/plain')
    return {
      type: 'document',
      source: { type: 'text', media_type: mediaType, data: Buffer.from(data, 'base64').toString('utf8') },
      ...title,
    }
  throw new UnsendableError(`${path}: must be a PDF or plain text`)
}

function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

/** The image's data as base64, however it was written. */
function dataUrl<Kind extends string>(url: MediaUrl<Kind>, path: string): DataUrl<`${Kind}/${string}`>
function dataUrl(url: string, path: string): DataUrl
function dataUrl(url: string, path: string): DataUrl {
  const found = dataOf(url)
  if (found === null)
    throw new UnsendableError(
      `${path}: ${url.startsWith('data:') ? 'the data URL must be in base64' : 'must be an http or https address or a data URL'}`,
    )
  return found
}
