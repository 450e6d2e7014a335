import { formatOf, madeMedia, type MediaSpec } from '../../test/harness/made-media.ts'
import { ArgumentsText } from './arguments-text.ts'
import { Identifiers } from './identifiers.ts'
import { rewriteJson, type JsonPath } from './json-strings.ts'
import { drawsOf, Letters } from './letters.ts'
import { keptPhrases, meaningOf, type Meaning } from './rules.ts'

const ADDRESS = /^https?:\/\//
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
/** Shorter texts, such as three dots, are placeholders. */
const BASE64_LENGTH_MIN = 16
/** Key of the expected answer of a case. */
export const EXPECTED = 'expected'
const SENTENCE = /\p{L}+(?:[\s,;:'’"]+\p{L}+){3}/u
const PERCENT = /%[0-9A-Fa-f]{2}/g
/** Members that distinguish several streams of pieces. */
const PLACES = ['index', 'item_id', 'output_index', 'content_index', 'contentBlockIndex']

/**
 * The replacements of one case for texts, identifiers and media; each original has the same replacement everywhere in
 * it.
 */
export class CaseMapping {
  readonly letters: Letters
  readonly ids: Identifiers
  /** The source of each generated file, by the file's base64. */
  readonly media = new Map<string, MediaSpec>()
  readonly #protocol: string
  /** Hosts that the product calls: hosts and paths stay, except for identifiers in them. */
  readonly #hosts: readonly string[]
  readonly #arguments = new Map<string, ArgumentsText>()
  readonly #opaque: string

  constructor(name: string, protocol: string, hosts: readonly string[] = []) {
    this.letters = new Letters(name)
    this.ids = new Identifiers(`id ${name}`)
    this.#opaque = `opaque ${name}`
    this.#protocol = protocol
    this.#hosts = hosts
  }

  /** Collects the identifiers of a text. Call it for all texts of a case before replacing any. */
  learn(json: string): void {
    rewriteJson(json, {
      string: (value, path) => {
        if (meaningOf(this.#protocol, path) === 'id') this.ids.add(value)
        return value
      },
    })
  }

  /** `under` is the path of the text within the whole recording. */
  json(json: string, under: JsonPath = []): string {
    const root = parsed(json)
    return rewriteJson(json, {
      string: (value, path) => this.#string(value, [...under, ...path], root),
      key: (name, path) =>
        path.includes('top_logprobs') && path.at(-1) !== 'top_logprobs'
          ? this.letters.text(name)
          : this.ids.within(name),
      number: (spelled, path) =>
        meaningOf(this.#protocol, [...under, ...path]) === 'codes' ? this.#code(spelled, path) : spelled,
    })
  }

  plain(text: string): string {
    return this.letters.text(text)
  }

  path(path: string): string {
    return this.ids.within(path)
  }

  #string(value: string, path: JsonPath, root: unknown): string {
    const meaning = meaningOf(this.#protocol, path)
    if (path.at(-1) === 'delta' && String(Object(root)['type']).endsWith('_arguments.delta'))
      return this.#pieceOf(value, path, root)
    return this.#as(meaning, value, path, root)
  }

  #as(meaning: Meaning, value: string, path: JsonPath, root: unknown): string {
    switch (meaning) {
      case 'fact':
        return factOf(value, path)
      case 'codes':
        return value
      case 'id':
        return this.ids.of(value)
      case 'arguments':
        return this.#pieceOf(value, path, root)
      case 'data':
        return this.letters.text(value)
      case 'text':
        return this.letters.text(value)
      case 'address':
        return ADDRESS.test(value) ? this.#address(value) : this.letters.text(value)
      case 'prose':
        return this.#prose(this.ids.within(value))
      case 'opaque':
        return isBase64(value) ? this.#drawnBase64(value) : this.letters.text(value)
      case 'media':
        return isBase64(value) ? this.#made(value) : value
    }
  }

  #pieceOf(value: string, path: JsonPath, root: unknown): string {
    // Pieces may be at any index of their lists; the expected answer has them all, complete.
    const steps = path[0] === EXPECTED ? path : path.filter((step) => typeof step === 'string')
    const place = [...steps, ...placesAlong(path, root)].join(' ')
    const found = this.#arguments.get(place) ?? new ArgumentsText(this.letters)
    this.#arguments.set(place, found)
    return found.push(value)
  }

  #address(value: string): string {
    const known = this.ids.within(value)
    if (URL.canParse(value) && this.#hosts.includes(new URL(value).host)) return known
    return known.split(PERCENT).reduce((out, part, index) => {
      const escape = index === 0 ? '' : ([...known.matchAll(PERCENT)][index - 1]?.[0] ?? '')
      return (
        out +
        escape +
        (index === 0
          ? part.replace(
              /^(https?:\/\/)?([\s\S]*)$/,
              (_all, scheme: string = '', rest: string) => scheme + this.letters.text(rest),
            )
          : this.letters.text(part))
      )
    }, '')
  }

  #prose(value: string): string {
    const kept = keptPhrases(value)
    const isKept = (at: number): boolean => kept.some(({ start, end }) => at >= start && at < end)
    let at = 0
    return Array.from(value, (letter) => {
      at += letter.length
      return isKept(at - letter.length) || /\d/.test(letter) ? letter : this.letters.letter(letter)
    }).join('')
  }

  #drawnBase64(value: string): string {
    const draw = drawsOf(`${this.#opaque} ${value}`)
    const bytes = Buffer.from(
      Array.from({ length: Buffer.from(value, 'base64').length }, () => Math.floor(draw() * 256)),
    )
    return spelledLike(value, bytes)
  }

  #made(value: string): string {
    const bytes = Buffer.from(value, 'base64')
    const format = formatOf(bytes)
    if (format === null) throw new Error(`media of an unknown format: ${value.slice(0, 40)}`)
    const spec: MediaSpec = { format, bytes: bytes.length, seed: this.media.size }
    const made = spelledLike(value, madeMedia(spec))
    this.media.set(made, spec)
    return made
  }

  /** A byte of a text, or the number of a token in a model's vocabulary. */
  #code(spelled: string, path: JsonPath): string {
    if (path.includes('context')) return this.letters.text(spelled)
    const code = Number(spelled)
    return code < 128 ? String(this.letters.letter(String.fromCharCode(code)).charCodeAt(0)) : spelled
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}

function placesAlong(path: JsonPath, root: unknown): readonly string[] {
  const found: string[] = []
  let at: unknown = root
  for (const step of path) {
    const level: Record<string, unknown> = Object(at)
    found.push(
      ...PLACES.filter((name) => ['string', 'number'].includes(typeof level[name])).map(
        (name) => `${name}=${level[name]}`,
      ),
    )
    at = level[step]
  }
  return found
}

/** Throws for a fact that looks like human text, because then the rule is wrong. */
function factOf(value: string, path: JsonPath): string {
  if (SENTENCE.test(value)) throw new Error(`${path.join('.')} is no fact: ${JSON.stringify(value)}`)
  return value
}

function isBase64(value: string): boolean {
  return value.length >= BASE64_LENGTH_MIN && BASE64.test(value)
}

/** Base64 in the alphabet of the given text, and padded as it is. */
function spelledLike(value: string, bytes: Buffer): string {
  const text = bytes.toString(/[-_]/.test(value) ? 'base64url' : 'base64').replace(/=+$/, '')
  return text.padEnd(value.length, '=')
}
