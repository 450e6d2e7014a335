import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'

/** Far above any bundle of authorities. */
const BYTES_MAX = 1_048_576
const BEGIN = '-----BEGIN CERTIFICATE-----'
const END = '-----END CERTIFICATE-----'

/** The certificates of a PEM file, without anything else in it; null = they cannot be read. */
export function readCertificates(path: string): string | null {
  try {
    const file = statSync(path)
    // A device or a pipe is refused: reading one may never end.
    if (!file.isFile() || file.size > BYTES_MAX) return null
    const parts = readFileSync(path, 'utf8').split(BEGIN).slice(1)
    const found = parts.map((part) => `${BEGIN}${part.split(END, 1)[0]}${END}`)
    for (const pem of found) new X509Certificate(pem)
    return found.length === 0 ? null : found.join('\n')
  } catch {
    return null
  }
}
