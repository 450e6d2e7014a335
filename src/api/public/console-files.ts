import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownValue } from '../../base/own-value.ts'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
}
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

/** A file of the built console. */
export interface ConsoleFile {
  readonly contentType: string
  readonly body: Buffer
  /** The file compressed at build time, by content coding. */
  readonly encoded: ReadonlyMap<string, Buffer>
  /** Its name contains a hash of its content. */
  readonly immutable: boolean
  readonly etag: string
}

/** The built console by URL path, read once: serving it never touches the disk. null = there is no build. */
export function readConsoleFiles(directory: string): ReadonlyMap<string, ConsoleFile> | null {
  if (!existsSync(join(directory, 'index.html'))) return null
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'))
  const files = new Map<string, ConsoleFile>()
  for (const name of names) {
    const contentType = ownValue(TYPES, name.slice(name.lastIndexOf('.') + 1))
    if (contentType === undefined) continue
    const body = readFileSync(join(directory, name))
    const encoded = new Map(
      ENCODINGS.filter(([, suffix]) => names.includes(name + suffix)).map(([coding, suffix]) => [
        coding,
        readFileSync(join(directory, name + suffix)),
      ]),
    )
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    files.set(`/${name}`, { contentType, body, encoded, immutable: name.startsWith('assets/'), etag })
  }
  return files
}
