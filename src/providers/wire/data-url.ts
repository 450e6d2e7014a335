import { UnsendableError } from '../ports/upstream-request.ts'

const DATA_URL = /^data:([a-z0-9.+/-]*)((?:;[^;,]*)*),/i

/** What a data URL holds. */
export interface DataUrl {
  /** In lower case, JPEG by its registered name; empty where the address names none. */
  readonly mediaType: string
  /** In base64. */
  readonly data: string
}

/** null = the address is no data URL. Throws an `UnsendableError` for one that is not in base64. */
export function readDataUrl(address: string, path: string): DataUrl | null {
  const found = DATA_URL.exec(address)
  if (found === null) return null
  const [head, named = '', attributes = ''] = found
  if (!/;base64$/i.test(attributes)) throw new UnsendableError(`${path}: the data URL must be in base64`)
  const mediaType = named.toLowerCase()
  return { mediaType: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, data: address.slice(head.length) }
}
