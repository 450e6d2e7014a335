import type { LanguageModelV4FilePart } from '@ai-sdk/provider'
import type { ChatPart } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../../protocols/ports/upstream-request.ts'
import { readDataUrl } from '../wire/data-url.ts'

/** Patterns of the addresses that a model fetches itself, by media type such as `image/*`. */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>

const AUDIO_FORMAT = /^[a-z0-9.+-]{1,32}$/i
const AUDIO_TYPES: ReadonlyMap<string, string> = new Map([
  ['mp3', 'audio/mpeg'],
  ['m4a', 'audio/mp4'],
  ['pcm16', 'audio/L16;rate=24000'],
])

/** An image, audio, video or document of a message. */
export function mediaPart(
  part: Exclude<ChatPart, { type: 'text' | 'refusal' }>,
  urls: SupportedUrls,
  path: string,
): LanguageModelV4FilePart {
  switch (part.type) {
    case 'image_url':
      return filePart(part.image_url.url, 'image/*', urls, `${path}.image_url.url`)
    case 'video_url':
      return filePart(part.video_url.url, 'video/*', urls, `${path}.video_url.url`)
    case 'file': {
      const { filename, file_data: data } = part.file
      return {
        ...filePart(data, 'application/pdf', urls, `${path}.file.file_data`),
        ...(filename === undefined ? {} : { filename }),
      }
    }
    case 'input_audio': {
      const { data, format } = part.input_audio
      if (!AUDIO_FORMAT.test(format))
        throw new UnsendableError(
          `${path}.input_audio.format: must be the name of an audio format, such as 'wav' or 'mp3'`,
        )
      return {
        type: 'file',
        mediaType: AUDIO_TYPES.get(format.toLowerCase()) ?? `audio/${format.toLowerCase()}`,
        data: { type: 'data', data },
      }
    }
  }
}

/** `usual` is the media type when the address names none. */
function filePart(address: string, usual: string, urls: SupportedUrls, path: string): LanguageModelV4FilePart {
  const found = readDataUrl(address, path)
  if (found !== null)
    return { type: 'file', mediaType: found.mediaType || usual, data: { type: 'data', data: found.data } }
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    throw new UnsendableError(`${path}: must be an http or https address or a data URL`)
  if (!isTaken(address, usual, urls))
    throw new UnsendableError(`${path}: this provider takes no addresses of such files; send a data URL`)
  return { type: 'file', mediaType: usual, data: { type: 'url', url: new URL(address) } }
}

function isTaken(address: string, mediaType: string, urls: SupportedUrls): boolean {
  const lower = address.toLowerCase()
  return Object.entries(urls).some(([pattern, addresses]) => {
    const prefix = pattern === '*' || pattern === '*/*' ? '' : pattern.toLowerCase().replace(/\*$/, '')
    return mediaType.startsWith(prefix) && addresses.some((regex) => regex.test(lower))
  })
}
