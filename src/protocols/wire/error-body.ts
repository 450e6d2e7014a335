import { jsonTextEnd } from '../../base/json-text.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from './raw-json.ts'
import type { Said } from './refusal-verdict.ts'

/** The most bytes that are read of an error status's body. */
export const ERROR_BYTES_MAX = 65_536
/** A message is searched only so far for the reason of a refusal, since it may repeat a prompt first. */
const SAID_CHARS_MAX = 65_536
const MESSAGE = /"(?:message|detail|msg|err_msg|error_msg|status_msg|error)"\s{0,8}:\s{0,8}"/
const NAMES = /"(code|type|status)"\s{0,8}:\s{0,8}"([\w.:-]{1,100})"/g
/** The parts of a list of errors that are read. */
const PARTS_MAX = 8
/** How deeply services wrap an error that another service gave them. */
const DEPTH_MAX = 6
/** Members in which services put a code, a type or another name of an error. */
const CODES = ['code', 'type', 'status', 'reason', 'errorCode', 'err_code', 'error_type', '__type'] as const
/** Members in which services put the words of an error: the first one with words counts. */
const WORDS = ['message', 'Message', 'error', 'detail', 'msg', 'error_msg', 'err_msg', 'error_message'] as const
/** Members of which a successful answer has at least one. */
const ANSWERS = ['choices', 'data', 'results', 'output', 'text', 'images', 'usage', 'id', 'type'] as const
/** Members with further names of the error, but without words about it. */
const INNER = ['innererror', 'inner_error', 'details', 'metadata'] as const

/** The error inside a 200, as several providers send it; null = the body is no error. */
export function errorIn(body: unknown): unknown {
  const object = objectOf(body)
  const error = object?.['error'] ?? null
  if (error !== null) return error
  const isError =
    object?.['object'] === 'error' ||
    textOf(object?.['error_msg']) !== null ||
    (textOf(object?.['message']) !== null && ANSWERS.every((name) => object?.[name] === undefined))
  const code = objectOf(object?.['base_resp'])?.['status_code']
  return isError || (typeof code === 'number' && code !== 0) ? body : null
}

/** Whether a 200 body is an error. */
export function isErrorBody(body: unknown): body is RawJson {
  return errorIn(body) !== null
}

/**
 * The body of an error status: parsed JSON; its text if it is neither JSON nor a page; or undefined. A cut body still
 * yields its names and the beginning of its message, since some services repeat the whole prompt in it.
 */
export function parseErrorBody(bytes: Buffer): unknown {
  if (bytes.length < ERROR_BYTES_MAX) {
    const json = parseJson(bytes)
    return json === undefined ? plainText(bytes) : json
  }
  const cut = bytes.subarray(0, ERROR_BYTES_MAX)
  const text = cut.toString('latin1')
  const found = MESSAGE.exec(text)
  if (found === null) return undefined
  const start = found.index + found[0].length
  const end = jsonTextEnd(cut, start)
  const names = [...text.slice(0, found.index).matchAll(NAMES)].slice(0, PARTS_MAX)
  return {
    error: {
      ...Object.fromEntries(names.map(([, name, value]) => [name, value])),
      message: spelledOut(cut.subarray(start, end === -1 ? cut.length : end)),
    },
  }
}

/** A text for people; undefined = the page of a proxy, which is of no use. */
function plainText(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8').trim()
  return text === '' || /^[<{[]|[\0\uFFFD]/.test(text) ? undefined : text
}

/** The facts in an error, wherever its service puts them. */
export interface ErrorSaid extends Said {
  /** The parameters that it names. */
  readonly fields: readonly string[]
  /** The tokens of the prompt and of the window; 0 = it states none. */
  readonly tokens: { readonly input: number; readonly limit: number }
  /** Google's `RetryInfo`, seconds. */
  readonly retrySeconds: number | null
}

/** Reads an error, or a body with one; `named` are further names of the error, such as that in a header. */
export function saidIn(body: unknown, named: readonly string[] = []): ErrorSaid {
  const reading = new ErrorReading()
  reading.read(body, DEPTH_MAX)
  const { message, codes, status, fields, tokens, retrySeconds } = reading
  return {
    message,
    codes: [...named.map((name) => name.toLowerCase()), ...codes],
    status,
    fields,
    tokens,
    retrySeconds,
  }
}

class ErrorReading {
  message = ''
  status: number | null = null
  retrySeconds: number | null = null
  readonly codes: string[] = []
  readonly fields: string[] = []
  readonly tokens = { input: 0, limit: 0 }

  read(value: unknown, depth: number): void {
    if (depth === 0) return
    if (typeof value === 'string') this.#text(value, depth)
    else if (Array.isArray(value)) for (const part of value.slice(0, PARTS_MAX)) this.#part(part, depth)
    else if (typeof value === 'object' && value !== null) this.#object(value as RawJson, depth)
  }

  /** Some services pass on, as text, the answer of another service. */
  #text(text: string, depth: number): void {
    const inner =
      text.startsWith('{') || text.startsWith('[') ? parseJson(Buffer.from(text.slice(0, SAID_CHARS_MAX))) : undefined
    if (inner !== undefined) this.read(inner, depth - 1)
    else if (this.message === '') this.message = text.slice(0, SAID_CHARS_MAX)
  }

  /** One error of a list, such as `{loc: ["body", "seed"], msg}` of FastAPI and Mistral. */
  #part(raw: unknown, depth: number): void {
    const before = this.message
    this.message = ''
    this.read(raw, depth - 1)
    const place = listOf(objectOf(raw)?.['loc']).filter((name) => name !== 'body' && name !== 'query')
    const [field] = place
    if (typeof field === 'string') this.fields.push(field)
    const words = place.length > 0 && this.message !== '' ? `${place.join('.')}: ${this.message}` : this.message
    this.message = [before, words]
      .filter((part) => part !== '')
      .join('; ')
      .slice(0, SAID_CHARS_MAX)
  }

  #object(error: RawJson, depth: number): void {
    for (const name of CODES) this.#code(error[name], '')
    this.#code(error['error_code'], 'error_code:')
    const base = objectOf(error['base_resp'])
    this.#code(base?.['status_code'], 'base_resp:')
    const param = textOf(error['param']) ?? textOf(error['field'])
    if (param !== null && param !== '') this.fields.push(param.slice(0, 100))
    this.tokens.input ||= tokensOf(error['n_prompt_tokens'])
    this.tokens.limit ||= tokensOf(error['n_ctx'])
    const found = /^(\d{1,9}(?:\.\d+)?)s$/.exec(textOf(error['retryDelay']) ?? '')
    if (found !== null) this.retrySeconds ??= Number(found[1])
    const said = [...WORDS.map((name) => error[name]), error['errors'], base?.['status_msg']]
    for (const words of said) if (this.message === '' || objectOf(words) !== null) this.read(words, depth - 1)
    const message = this.message
    for (const name of INNER) {
      const inner = objectOf(error[name]) ?? (Array.isArray(error[name]) ? error[name] : null)
      if (inner !== null) this.read(inner, depth - 1)
    }
    for (const violation of listOf(error['fieldViolations']).slice(0, PARTS_MAX)) this.read(violation, depth - 1)
    this.message = message
    const raw = objectOf(error['metadata'])?.['raw']
    if (raw !== undefined && raw !== null) this.#part(raw, depth)
  }

  #code(code: unknown, prefix: string): void {
    if (typeof code === 'number' && prefix === '' && code >= 400 && code <= 599 && Number.isSafeInteger(code)) {
      this.status ??= code
    } else if ((typeof code === 'string' && code !== '') || typeof code === 'number') {
      const name = String(code).slice(0, 200)
      if (prefix === '' && /^[45]\d\d$/.test(name)) this.status ??= Number(name)
      else this.codes.push(prefix + (name.split('#').at(-1) ?? name).toLowerCase())
    }
  }
}

function tokensOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

/** The text of a JSON string's inside, without an escape that was cut at its end. */
function spelledOut(inside: Buffer): string {
  for (let end = inside.length; end > Math.max(0, inside.length - 12); end -= 1) {
    const text = parseJson(Buffer.concat([Buffer.from('"'), inside.subarray(0, end), Buffer.from('"')]))
    if (typeof text === 'string') return text
  }
  return ''
}
