import type { Provider } from '../../catalog/catalog.ts'
import type { AttemptFailure, RedactedFailure } from '../ports/attempt-failure.ts'
import type { JsonObject } from '../../lib/json-object.ts'
import { objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import { headerOf, type UpstreamHeaders } from '../../protocols/wire/transport.ts'

const MESSAGE_LENGTH_MAX = 500
/**
 * Only this much of a message is searched for secrets, since their patterns may take quadratic time; at most 500
 * characters are shown.
 */
const REDACTED_LENGTH_MAX = 2_000
/** Only this much of a message is searched for the reason of a refusal, since it may repeat a prompt first. */
const SAID_LENGTH_MAX = 65_536
/** The most members and elements of a refusal that is passed on. */
const BODY_VALUES_MAX = 64
const RETRY_AFTER_MAX_SECONDS = 60
const REDACTED = '[redacted]'
const DETAIL_LENGTH_MAX = 2_000
/** A shorter secret may be part of any word. */
const SECRET_LENGTH_MIN = 8
const CONTEXT =
  /maximum (context|prompt) length|context[ _-]?(length|window|limit)|too[ _]many[ _]((input|prompt)[ _])?tokens|(prompt|input) is too long|input[ _]tokens?[ _](limit[ _])?exceeded|input token count|range of input length|prompt exceeds max length|reduce the length/i
/** The requested output is too long, not the prompt: Cohere's "too many tokens: max tokens must be less than …". */
const MAX_TOKENS = /max[ _]tokens must be/i
const MODERATION = /content[_ ]?(filter|policy)|moderation|safety system|responsible ?ai/i
/** Words with which providers refuse a picture or a video. */
const FLAGGED = /nsfw|flagged|sensitive|prohibited|inappropriate|safety|violat/i
const CREDENTIALS =
  /api[ _-]?key (is )?(not valid|invalid|expired)|(incorrect|invalid) api[ _-]?key|invalid_api_key|authentication/i
/** Keys, organisations, projects and addresses: everything that could identify the operator's account. */
const SECRETS = [
  /\b(sk|pk|rk|gsk|xai|key|org|proj|acct|user|req|tgp)[-_][A-Za-z0-9*._-]{6,}/g,
  /\bBearer\s+\S+/gi,
  /\bAIza[\w-]{10,}/g,
  /https?:\/\/\S+/g,
  /[\w.+-]+@[\w-]+\.[\w.]+/g,
  /\barn:aws[\w-]*:\S+/g,
  /\b(AKIA|ASIA)[A-Z0-9]{12,}/g,
  /\b\d{12}\b/g,
  /\b\d{1,3}(\.\d{1,3}){3}\b(:\d+)?/g,
  /\bprojects\/[\w:.-]+/gi,
  /\bproject(_number|_id)?\s*(?:[:=]\s*)?'?\d{6,}'?/gi,
  /\bserviceAccounts?[/:][\w@.:-]+/gi,
  // Any other long text that looks random.
  /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}(?![\w-])/g,
]

/** An error answer of any OpenAI dialect (wire.md 7.4). `body` is parsed JSON, or undefined. */
export function upstreamFailure(
  status: number,
  body: unknown,
  headers: UpstreamHeaders,
  nowMs: number,
): AttemptFailure {
  const error = errorObject(body)
  const message = error.message
  const refusal = refusalOf(status, `${error.code} ${error.type} ${message}`)
  const isRequestFault = status === 400 || status === 413 || status === 422
  return {
    reason: 'status',
    status: refusal === 'context_length' && status < 500 ? 400 : status,
    publicMessage: isRequestFault && refusal !== 'credentials' ? quoted(message) : null,
    said: quoted(message),
    quotes: true,
    refusal,
    retryAfterSeconds: retryAfter(headerOf(headers, 'retry-after'), nowMs),
    detail: `${status} ${excerptOf(body, DETAIL_LENGTH_MAX)}`.slice(0, DETAIL_LENGTH_MAX),
  }
}

/** An error object inside a 200: its status is the code that it names, else 502. */
export function eventFailure(raw: unknown): AttemptFailure {
  const error = errorObject({ error: raw })
  const code = Number(error.code)
  return {
    reason: 'error_event',
    status: Number.isSafeInteger(code) && code >= 400 && code <= 599 ? code : 502,
    publicMessage: null,
    said: quoted(error.message),
    quotes: true,
    refusal: refusalOf(502, `${error.code} ${error.type} ${error.message}`),
    retryAfterSeconds: null,
    detail: raw === undefined ? 'error event' : excerptOf(raw, DETAIL_LENGTH_MAX),
  }
}

/**
 * A job that the provider accepted and then failed: a moderation refusal is the client's to know, any other reason is
 * not.
 */
export function jobFailure(raw: unknown): AttemptFailure {
  const found = eventFailure(raw)
  const { message, code } = errorObject({ error: raw })
  if (found.refusal !== 'moderation' && !FLAGGED.test(`${code} ${message}`)) return found
  return {
    ...found,
    status: 400,
    refusal: 'moderation',
    publicMessage: quoted(message) ?? 'The prompt was rejected by the provider',
  }
}

function errorObject(body: unknown): { readonly message: string; readonly code: string; readonly type: string } {
  const outer = objectOf(Array.isArray(body) ? body[0] : body)
  const inner = objectOf(outer?.['error']) ?? outer
  const message =
    textOf(inner?.['message']) ?? textOf(outer?.['error']) ?? textOf(inner?.['detail']) ?? textOf(inner?.['msg']) ?? ''
  const code = inner?.['code'] ?? inner?.['status'] ?? ''
  return {
    message: cut(message),
    code: typeof code === 'string' || typeof code === 'number' ? cut(String(code)) : '',
    type: cut(textOf(inner?.['type']) ?? ''),
  }
}

function refusalOf(status: number, said: string): AttemptFailure['refusal'] {
  if (status === 401 || CREDENTIALS.test(said)) return 'credentials'
  // Too many tokens per minute say nothing about this prompt.
  if (status !== 429 && CONTEXT.test(said) && !MAX_TOKENS.test(said)) return 'context_length'
  return MODERATION.test(said) ? 'moderation' : null
}

function cut(text: string): string {
  return text.slice(0, SAID_LENGTH_MAX)
}

/** The part of the message that `withoutSecretsOf` reads; null where nothing is left of it. */
function quoted(message: string): string | null {
  const words = wholeWords(message)
  return words === '' ? null : words
}

/** The beginning of a text without a word that the cut goes through, since a cut secret would not be recognised. */
function wholeWords(text: string): string {
  if (text.length <= REDACTED_LENGTH_MAX) return text
  let end = REDACTED_LENGTH_MAX
  while (end > 0 && isPartOfWord(text.charCodeAt(end - 1))) end -= 1
  return text.slice(0, end)
}

/** Secrets consist of printable ASCII. */
function isPartOfWord(code: number): boolean {
  return code > 0x20 && code < 0x7f
}

/**
 * Removes the provider's own settings: its keys, whatever their form, and its address. Then removes from the upstream's
 * words whatever looks like a secret, and cuts them to the length for clients. The order matters: a pattern that
 * matched the middle of a key would leave its ends.
 */
export function withoutSecretsOf(
  provider: Pick<Provider, 'apiKeys' | 'baseUrl'>,
  failure: AttemptFailure,
): RedactedFailure {
  const secrets = secretsOf(provider)
  const redact = (text: string): string => {
    let rest = text
    for (const secret of secrets) rest = rest.replaceAll(secret, REDACTED)
    if (failure.quotes === true) for (const pattern of SECRETS) rest = rest.replaceAll(pattern, REDACTED)
    return rest
  }
  const clean = (text: string | null): string | null =>
    text === null ? null : redact(text).slice(0, MESSAGE_LENGTH_MAX)
  const { publicMessage, said, body } = failure
  return {
    ...failure,
    publicMessage: clean(publicMessage),
    said: clean(said),
    ...(body === undefined ? {} : { body: redactedBody(body, redact) }),
    redacted: true,
  }
}

/** Every text of a body, names of members included; what is more than a refusal needs is left out. */
function redactedBody(body: JsonObject, redact: (text: string) => string): JsonObject {
  let left = BODY_VALUES_MAX
  const cleaned = (value: unknown): unknown => {
    left -= 1
    if (left < 0) return null
    if (typeof value === 'string') return redact(wholeWords(value))
    if (Array.isArray(value)) return value.slice(0, left).map(cleaned)
    return typeof value === 'object' && value !== null ? members(value) : value
  }
  const members = (object: object): Record<string, unknown> => {
    const copy: Record<string, unknown> = {}
    for (const [name, value] of entriesOf(object)) {
      if (left <= 0) break
      if (name !== '__proto__') copy[redact(wholeWords(name))] = cleaned(value)
    }
    return copy
  }
  return members(body)
}

/** The longest first, since one may be part of another. */
function secretsOf({ apiKeys, baseUrl }: Pick<Provider, 'apiKeys' | 'baseUrl'>): readonly string[] {
  // Some keys are lists, such as a pair and a region.
  const keys = [...apiKeys, ...apiKeys.flatMap((key) => key.split(':'))]
  const known = [
    ...keys,
    ...keys.map(encodeURIComponent),
    ...(URL.canParse(baseUrl) ? [new URL(baseUrl).host, new URL(baseUrl).hostname] : []),
  ]
  return [...new Set(known)]
    .filter(({ length }) => length >= SECRET_LENGTH_MIN)
    .toSorted((left, right) => right.length - left.length)
}

/** Seconds or a date; at most a minute. */
function retryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null
  const seconds = /^\d+(\.\d+)?$/.test(value) ? Number(value) : (Date.parse(value) - nowMs) / 1_000
  return Number.isFinite(seconds) ? Math.min(RETRY_AFTER_MAX_SECONDS, Math.max(0, Math.ceil(seconds))) : null
}

/**
 * The beginning of an upstream's answer as JSON. It walks only as much as it shows, so an answer of 30 MB costs as
 * little as a short one.
 */
function excerptOf(value: unknown, charsMax: number): string {
  const excerpt = new Excerpt(charsMax)
  excerpt.add(value)
  return excerpt.text()
}

class Excerpt {
  readonly #charsMax: number
  readonly #parts: string[] = []
  #chars = 0

  constructor(charsMax: number) {
    this.#charsMax = charsMax
  }

  text(): string {
    return this.#parts.join('').slice(0, this.#charsMax)
  }

  /** The depth is bounded with the characters: each level writes one. */
  add(value: unknown): void {
    if (this.#chars >= this.#charsMax) return
    if (typeof value === 'string') this.#write(JSON.stringify(value.slice(0, this.#charsMax)))
    else if (Array.isArray(value)) this.#list(value)
    else if (typeof value === 'object' && value !== null) this.#object(value)
    else this.#write(JSON.stringify(value) ?? '')
  }

  #list(values: readonly unknown[]): void {
    this.#write('[')
    for (const [index, value] of values.entries()) {
      if (this.#chars >= this.#charsMax) return
      if (index > 0) this.#write(',')
      this.add(value)
    }
    this.#write(']')
  }

  #object(value: object): void {
    this.#write('{')
    let separator = ''
    for (const [name, child] of entriesOf(value)) {
      if (this.#chars >= this.#charsMax) return
      this.#write(`${separator}${JSON.stringify(name.slice(0, this.#charsMax))}:`)
      separator = ','
      this.add(child)
    }
    this.#write('}')
  }

  #write(text: string): void {
    this.#parts.push(text)
    this.#chars += text.length
  }
}

/** One entry at a time: `Object.entries` would first list a million of them. */
function* entriesOf(value: object): Generator<readonly [string, unknown]> {
  for (const name in value) {
    // Keys of parsed JSON are strings.
    if (Object.hasOwn(value, name)) yield [name, (value as Readonly<Record<string, unknown>>)[name]]
  }
}
