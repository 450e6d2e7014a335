import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'

const URL_LENGTH_MAX = 200
const TITLE_LENGTH_MAX = 64
/** C0, C1, line and paragraph separators, and marks that change the direction of text. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** Which application a request came from, for statistics and the log only (wire.md D-11.1). */
export interface AppIdentity {
  readonly appUrl: string | null
  readonly appTitle: string | null
}

/** The console's own playground, whose pages have the address of the service. */
export const PLAYGROUND: AppIdentity = Object.freeze({ appUrl: null, appTitle: 'Playground' })
export const PLAYGROUND_PATH = '/cabinet/v1/playground/'

const NOBODY: AppIdentity = Object.freeze({ appUrl: null, appTitle: null })

/** `path` is that of the request: the header that a browser sends from the console is no name of an app. */
export function appIdentity(headers: IncomingHttpHeaders, path = ''): AppIdentity {
  if (path.startsWith(PLAYGROUND_PATH)) return PLAYGROUND
  const url = first(headers['http-referer']) ?? first(headers.referer)
  const title = first(headers['x-tollgate-title']) ?? first(headers['x-openrouter-title']) ?? first(headers['x-title'])
  if (url === undefined && title === undefined) return NOBODY
  return { appUrl: url === undefined ? null : origin(url), appTitle: title === undefined ? null : readable(title) }
}

const END_USER_LENGTH_MAX = 128
/** Claude Code names its user, the account and the session in one word: a session is no user. */
const CLAUDE_SESSION = '_session_'

/**
 * The client's own user that a body names, for statistics and the log only (wire.md D-11.1); null = none. It is read
 * before names get the form that providers see.
 */
export function endUserOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null
  // Any object can be read by name.
  const { user, safety_identifier: safety, metadata } = body as Readonly<Record<string, unknown>>
  const named = [user, safety, userIdOf(metadata)].find((name) => typeof name === 'string' && name !== '')
  if (typeof named !== 'string') return null
  const session = named.startsWith('user_') ? named.indexOf(CLAUDE_SESSION) : -1
  const short = (session === -1 ? named : named.slice(0, session)).slice(0, END_USER_LENGTH_MAX)
  const clean = short.replace(CONTROLS, '').toWellFormed().trim()
  return clean === '' ? null : clean
}

function userIdOf(metadata: unknown): unknown {
  return typeof metadata === 'object' && metadata !== null && 'user_id' in metadata ? metadata.user_id : null
}

function first(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value
  return text === '' ? undefined : text
}

function origin(text: string): string | null {
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  return url.origin.length > URL_LENGTH_MAX ? null : url.origin
}

/** Node reads header bytes as Latin-1; browsers and Python can send Cyrillic only percent-encoded. */
function readable(header: string): string | null {
  const bytes = Buffer.from(header, 'latin1')
  const text = isUtf8(bytes) ? bytes.toString('utf8') : header
  const clean = percentDecoded(text).replace(CONTROLS, '').trim()
  const short = clean.length <= TITLE_LENGTH_MAX ? clean : [...clean].slice(0, TITLE_LENGTH_MAX).join('')
  return short === '' ? null : short
}

function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
