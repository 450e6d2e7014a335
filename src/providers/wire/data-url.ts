import { UnsendableError } from '../../protocols/ports/upstream-request.ts'

const DATA_URL = /^data:([a-z0-9.+/-]*)((?:;[^;,]*)*),/i

/** The content of a data URL. */
export interface DataUrl {
  /** In lower case, with JPEG's registered name; empty when the URL names none. */
  readonly mediaType: string
  /** In base64. */
  readonly data: string
}

/** null = not a data URL. Throws an `UnsendableError` for a data URL without base64. */
export function readDataUrl(address: string, path: string): DataUrl | null {
  const found = DATA_URL.exec(address)
  if (found === null) return null
  const [head, named = '', attributes = ''] = found
  if (!/;base64$/i.test(attributes)) throw new UnsendableError(`${path}: the data URL must be in base64`)
  const mediaType = named.toLowerCase()
  return { mediaType: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, data: address.slice(head.length) }
}
