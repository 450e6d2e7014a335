import { secretsInAuth } from '../../catalog/auth.ts'
import type { Provider } from '../../catalog/catalog.ts'

const REDACTED = '[redacted]'
/** A message is searched for secrets only so far; at most 500 characters are shown. */
export const REDACTED_LENGTH_MAX = 2_000
/** A secret, or a part of one, that is shorter than this may be part of any word. */
const SECRET_LENGTH_MIN = 8
/** A secret of this length, like a key, is also recognised by its beginning or its end. */
const LONG_SECRET = 16
/** The characters at each end of a key that some services show. */
const END_LENGTH = 4
/** The levels of escapes that are decoded, such as text within JSON within an address within JSON. */
const DECODINGS_MAX = 4
const ESCAPE =
  /%[0-7][\da-f]|%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[0-7](?:%[89ab][\da-f]){3}|[\\%]u[\da-f]{4}|\\u\{[\da-f]{1,4}\}|\\x[\da-f]{2}|\\[/"\\nrt]|&(?:#\d{2,5}|#x[\da-f]{2,4}|amp|quot|apos);/gi
const NAMED_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\n', '\n'],
  ['\\r', '\r'],
  ['\\t', '\t'],
  ['&amp;', '&'],
  ['&quot;', '"'],
  ['&apos;', "'"],
])
/** Patterns of keys, organisations, projects and addresses: everything that could identify the operator's account. */
const PATTERNS = [
  /\b(?:sk|pk|rk|gsk|xai|org|proj|acct|tgp|wrkspc|hf|nvapi|pplx|sess|r8|fw)[-_][\w*.-]{6,}/g,
  /\bBearer\s+[^\s<>"']+/gi,
  /\bAIza[\w-]{10,}/g,
  /\bya29\.[\w.-]+/g,
  /(?<![\w-])eyJ[\w-]{10,}\.[\w-]+\.[\w-]+/g,
  /https?:\/\/[^\s<>"']+/g,
  /(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+/g,
  /\barn:aws[\w-]*:[^\s<>"']+/g,
  /\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}/g,
  /\b\d{12}\b/g,
  /\b\d{4}-\d{4}-\d{4}\b/g,
  /\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b/gi,
  /\b\d{1,3}(\.\d{1,3}){3}\b(:\d+)?/g,
  /(?<![\w.-])[\w.-]{1,200}\.(?:azure\.(?:com|net|us|cn)|azure-api\.net|windows\.net|azurewebsites\.net|amazonaws\.com|googleapis\.com|run\.app)\b/gi,
  /\b(?:projects|subscriptions|resourceGroups|deployments|tenants|organizations|workspaces)\/[\w:.-]+/gi,
  /\bproject(?:[ _-]?(?:number|id))?[\s:=#'"`(]{0,5}\d{6,}/gi,
  /\bproject:[\w.-]+/gi,
  /\bserviceAccounts?[/:][\w@.:-]+/gi,
]
/** In a parameter's name, such as `user_location`, such a word has no digit. */
const PREFIXED_WORD = /\b(?:key|user|req)[-_][\w*.-]{6,}/g
const MASK = /[*•]{3,}|\.{3,}|…/g
const LONG_WORD = /(?<![\w-])[\w-]{32,}/g

/** The settings of a provider that only its operator may see. */
export type OperatorsOwn = Pick<Provider, 'apiKeys' | 'baseUrl'> & Partial<Pick<Provider, 'dialect' | 'auth'>>

interface Secret {
  readonly text: string
  /** Whether its first or last eight characters already reveal too much. */
  readonly inParts: boolean
}

/**
 * A text without escapes; its character `i` began at `places[i]` of the original. The last place is the end of the
 * original.
 */
interface Decoded {
  readonly text: string
  readonly places: readonly number[]
}

type Span = readonly [start: number, end: number]

/**
 * Removes the settings of a provider from a text, and from words that are not our own (`quoted`) also whatever looks
 * like a secret. All are looked for in the text without escapes and removed at once: if one were removed first, the
 * ends of another around it would stay.
 */
export function redactor(provider: OperatorsOwn, quoted: boolean): (text: string) => string {
  const secrets = secretsOf(provider)
  return (original) => {
    const { text, places } = decodedOf(original)
    const folded = caseless(text)
    const spans = secrets.flatMap((secret) => [...spansOf(folded, secret)])
    if (quoted) spans.push(...patternSpans(text), ...maskSpans(text, secrets), ...endsSpans(folded, secrets))
    let rest = ''
    let from = 0
    for (const [first, last] of spans.toSorted(([left], [right]) => left - right)) {
      const start = places[first] ?? 0
      if (start >= from) rest += original.slice(from, start) + REDACTED
      from = Math.max(from, places[last] ?? original.length)
    }
    return rest + original.slice(from)
  }
}

/** The beginning of a text up to the last word that is not cut, since a cut secret would not be recognised. */
export function wholeWords(text: string): string {
  if (text.length <= REDACTED_LENGTH_MAX) return text
  let end = REDACTED_LENGTH_MAX
  while (end > 0 && isPartOfWord(text.charCodeAt(end - 1))) end -= 1
  return text.slice(0, end)
}

/** Secrets consist of printable ASCII. */
function isPartOfWord(code: number): boolean {
  return code > 0x20 && code < 0x7f
}

function secretsOf({ apiKeys, baseUrl, dialect, auth }: OperatorsOwn): readonly Secret[] {
  // Some keys are lists, such as a pair and a region.
  const keys = [...apiKeys, ...(auth?.issued ?? [])].flatMap((key) => [key, ...key.split(':')])
  if (auth !== undefined) keys.push(...secretsInAuth(auth.entry))
  // Some values begin with the name of a scheme.
  const { headers: ofToken = {}, params = {} } = auth?.entry ?? {}
  const given = [dialect?.headers ?? {}, ofToken, params].flatMap((map) => Object.values(map))
  const headers = given.flatMap((value) => [value, ...value.split(' ')])
  const values = [...new URLSearchParams(dialect?.query ?? '').values(), ...headers]
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  // A part of some addresses is the number of an account, or the name of a resource.
  const places =
    url === null
      ? []
      : [url.host, url.hostname, ...url.pathname.split('/').filter((part) => /\d/.test(part) && !/^v\d/.test(part))]
  return [
    ...keys.map((text) => ({ text, inParts: true })),
    ...values.map((text) => ({ text, inParts: text.length >= LONG_SECRET })),
    ...places.map((text) => ({ text, inParts: false })),
  ]
    .map(({ text, inParts }) => ({ text: caseless(decodedOf(text).text), inParts }))
    .filter(({ text }) => text.length >= SECRET_LENGTH_MIN)
}

function decodedOf(original: string): Decoded {
  let text = original
  let places = Array.from({ length: original.length + 1 }, (_, index) => index)
  for (let round = 0; round < DECODINGS_MAX; round += 1) {
    const found = [...text.matchAll(ESCAPE)]
    if (found.length === 0) break
    let next = ''
    const nextPlaces: number[] = []
    let from = 0
    const keep = (to: number): void => {
      next += text.slice(from, to)
      for (; from < to; from += 1) nextPlaces.push(places[from] ?? 0)
    }
    for (const { 0: escape, index } of found) {
      keep(index)
      const plain = plainOf(escape)
      next += plain
      for (let unit = 0; unit < plain.length; unit += 1) nextPlaces.push(places[index] ?? 0)
      from = index + escape.length
    }
    keep(text.length)
    text = next
    places = [...nextPlaces, original.length]
  }
  return { text, places }
}

function plainOf(escape: string): string {
  const named = NAMED_ESCAPES.get(escape.toLowerCase())
  if (named !== undefined) return named
  if (/^.[ux]/i.test(escape)) return String.fromCharCode(Number.parseInt(escape.replace(/^..\{?/, ''), 16))
  if (escape.startsWith('%')) return percentDecoded(escape)
  if (escape.startsWith('\\')) return escape.slice(1)
  const isHex = /x/i.test(escape)
  return String.fromCharCode(Number.parseInt(escape.slice(isHex ? 3 : 2), isHex ? 16 : 10))
}

function percentDecoded(escape: string): string {
  try {
    return decodeURIComponent(escape)
  } catch {
    return escape
  }
}

/** The text with ASCII letters in lower case: other letters may change their length. */
function caseless(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

function* spansOf(text: string, { text: secret, inParts }: Secret): Generator<Span> {
  const head = inParts ? secret.slice(0, SECRET_LENGTH_MIN) : secret
  for (let at = text.indexOf(head); at !== -1; at = text.indexOf(head, at + 1)) {
    let length = head.length
    while (length < secret.length && text[at + length] === secret[length]) length += 1
    if (!isWord(secret.slice(0, length), secret[length])) yield [at, at + length]
  }
  if (!inParts) return
  const tail = secret.slice(-SECRET_LENGTH_MIN)
  for (let at = text.indexOf(tail); at !== -1; at = text.indexOf(tail, at + 1)) {
    const end = at + tail.length
    let length = tail.length
    while (length < secret.length && end > length && text[end - length - 1] === secret[secret.length - length - 1])
      length += 1
    if (!isWord(secret.slice(-length), secret[secret.length - length - 1])) yield [end - length, end]
  }
}

/** Whether a part of a secret is a whole word of it, as in `provider-key-1`, since other texts have such words too. */
function isWord(part: string, next: string | undefined): boolean {
  return next !== undefined && /^[a-z]+$/i.test(part) && !/[a-z]/i.test(next)
}

function* patternSpans(text: string): Generator<Span> {
  for (const pattern of PATTERNS)
    for (const { 0: found, index } of text.matchAll(pattern)) yield [index, index + found.length]
  for (const { 0: found, index } of text.matchAll(PREFIXED_WORD))
    if (/[\dA-Z*]/.test(found)) yield [index, index + found.length]
  for (const { 0: found, index } of text.matchAll(LONG_WORD))
    if (looksRandom(found)) yield [index, index + found.length]
}

/** Whether a word looks random: a long name, such as that of a model, consists of words and numbers. */
function looksRandom(word: string): boolean {
  return (
    /\d/.test(word) &&
    /[a-z]/i.test(word) &&
    word
      .split(/[-_]/)
      .some(
        (part) =>
          part.length >= 20 ||
          (part.length >= SECRET_LENGTH_MIN &&
            /\d/.test(part) &&
            /[a-z]/i.test(part) &&
            !/^[a-z]+\d{1,4}$/i.test(part)),
      )
  )
}

/** Masked keys: `ab****yz` or `ab...yz`, or with only one end if it is the end of a key. */
function* maskSpans(text: string, secrets: readonly Secret[]): Generator<Span> {
  for (const { 0: mask, index } of text.matchAll(MASK)) {
    let start = index
    while (start > 0 && isKeyCharacter(text.charCodeAt(start - 1))) start -= 1
    let end = index + mask.length
    while (end < text.length && isKeyCharacter(text.charCodeAt(end))) end += 1
    const left = text.slice(start, index)
    const right = text.slice(index + mask.length, end)
    const hasBoth = left.length >= 2 && right.length >= 2
    const isSecret = /^[*•]/.test(mask)
      ? left.length + right.length >= 2
      : hasBoth
        ? /\D/.test(left + right)
        : secrets.some(
            ({ text: key, inParts }) =>
              inParts &&
              ((left.length >= 3 && key.startsWith(caseless(left))) ||
                (right.length >= 3 && key.endsWith(caseless(right)))),
          )
    if (isSecret) yield [start, end]
  }
}

/** Both ends of a long secret in one word, whatever hides its middle: `abcdxxxxwxyz`, `abcd<hidden>wxyz`. */
function* endsSpans(text: string, secrets: readonly Secret[]): Generator<Span> {
  for (const { text: secret, inParts } of secrets) {
    if (!inParts || secret.length < LONG_SECRET) continue
    const tail = secret.slice(-END_LENGTH)
    for (const { 0: word, index } of text.matchAll(/\S+/g)) {
      const from = word.indexOf(secret.slice(0, END_LENGTH))
      const to = word.lastIndexOf(tail)
      if (from !== -1 && to >= from + END_LENGTH) yield [index + from, index + to + tail.length]
    }
  }
}

/** Whether it is an ASCII letter or digit, `-` or `_`. */
function isKeyCharacter(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x2d ||
    code === 0x5f
  )
}
