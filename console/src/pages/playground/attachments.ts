/** A file of a message, as the chat API takes it. */
export interface Attachment {
  readonly name: string
  readonly kind: AttachmentKind
  /** For example `image/png`. */
  readonly mediaType: string
  readonly base64: string
  readonly bytes: number
}

/** The modality that a model must take. */
type AttachmentKind = 'image' | 'file' | 'audio'

/** Base64 makes a file a third larger, and a body has at most 10 MB. */
export const ATTACHED_BYTES_MAX = 7_000_000
/** The formats that the API describes by media type, or by their extension where browsers name none. */
const KIND_OF: ReadonlyMap<string, AttachmentKind> = new Map([
  ['image/png', 'image'],
  ['image/jpeg', 'image'],
  ['image/webp', 'image'],
  ['image/gif', 'image'],
  ['application/pdf', 'file'],
  ['audio/wav', 'audio'],
  ['audio/x-wav', 'audio'],
  ['audio/mpeg', 'audio'],
  ['audio/mp3', 'audio'],
  ['audio/flac', 'audio'],
  ['audio/ogg', 'audio'],
  ['audio/mp4', 'audio'],
  ['audio/x-m4a', 'audio'],
])
const AUDIO_FORMATS: ReadonlyMap<string, string> = new Map([
  ['audio/mpeg', 'mp3'],
  ['audio/x-wav', 'wav'],
  ['audio/mp4', 'm4a'],
  ['audio/x-m4a', 'm4a'],
])

/** What a file chooser offers for the modalities that all of the models take. */
export function acceptedTypes(modalities: ReadonlySet<string>): string {
  return [...KIND_OF]
    .filter(([, kind]) => modalities.has(kind))
    .map(([type]) => type)
    .join(',')
}

/** null = the models do not take such a file. */
export async function attachmentOf(file: File, modalities: ReadonlySet<string>): Promise<Attachment | null> {
  const kind = KIND_OF.get(file.type)
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

/** The part of a message; `content` stands for the file's base64. */
export function attachmentPart(attachment: Attachment, base64 = attachment.base64): object {
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
        input_audio: {
          data: base64,
          format: AUDIO_FORMATS.get(mediaType) ?? mediaType.slice(mediaType.indexOf('/') + 1),
        },
      }
  }
}
