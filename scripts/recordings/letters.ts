import { createHash } from 'node:crypto'

/**
 * Letters of one kind and one width in UTF-8; each is replaced by one of `kept` letters of its row, which are drawn for
 * the case.
 */
interface LetterClass {
  readonly has: RegExp
  readonly letters: string
  readonly kept: number
}

/**
 * The first row that matches a letter counts. a to c have a row of their own, since their codes have two digits where
 * recordings contain codes.
 */
const CLASSES: readonly LetterClass[] = [
  { has: /[a-c]/, letters: 'abc', kept: 2 },
  { has: /[d-z]/, letters: 'defghijklmnopqrstuvwxyz', kept: 6 },
  { has: /[A-Z]/, letters: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', kept: 6 },
  { has: /[1-9]/, letters: '123456789', kept: 4 },
  { has: /[\u00df-\u024f]/, letters: 'àáâãäåæçèéêëìíîïñòóôõöùúûü', kept: 6 },
  { has: /[\u00c0-\u00de]/, letters: 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜ', kept: 6 },
  { has: /[а-џ]/, letters: 'абвгдежзиклмнопрстуфхцчшэюя', kept: 8 },
  { has: /[А-Я]/, letters: 'АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЭЮЯ', kept: 8 },
  { has: /[α-ω]/, letters: 'αβγδεζηθικλμνξοπρστυφχψω', kept: 6 },
  { has: /[Α-Ω]/, letters: 'ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ', kept: 6 },
  { has: /[\u0590-\u05ff]/, letters: 'אבגדהוזחטיכלמנסעפצקרשת', kept: 6 },
  { has: /[\u0600-\u06ff]/, letters: 'ابتثجحخدذرزسشصضطظعغفقكلمنهوي', kept: 6 },
  { has: /[\u0900-\u097f]/, letters: 'कखगघचछजझटठडढतथदधनपफबभमयरलव', kept: 6 },
  { has: /[\u0e00-\u0e7f]/, letters: 'กขคงจฉชซญดตถทธนบปผพมยรลวสหอ', kept: 6 },
  { has: /[\u3040-\u309f]/, letters: 'あいうえおかきくけこさしすせそたちつてと', kept: 6 },
  { has: /[\u30a0-\u30ff]/, letters: 'アイウエオカキクケコサシスセソタチツテト', kept: 6 },
  { has: /[\uac00-\ud7af]/, letters: '가나다라마바사아자차카타파하', kept: 6 },
  { has: /[\u4e00-\u9fff]/, letters: '山水火木金土日月人口田石花草雨雪风云天地', kept: 8 },
  { has: /[\u{10000}-\u{10ffff}]/u, letters: '🐙🐚🐛🐜🐝🐞🐟🐠🐡🐢🐣🐤', kept: 4 },
]
/** Letters and pictograms, which must have a row. */
const LETTER = /[\p{L}\p{Extended_Pictographic}]/u
/** Signs that count as pictograms, but have as little meaning as punctuation. */
const SIGN = /[\u00a9\u00ae\u2000-\u2bff\u3030]/

/** Numbers from 0 to 1, always the same for the same seed. */
export function drawsOf(seed: string): () => number {
  let block = Buffer.alloc(0)
  let at = 0
  let round = 0
  return () => {
    if (at + 4 > block.length) {
      block = createHash('sha256').update(`${seed}\n${round}`).digest()
      round += 1
      at = 0
    }
    at += 4
    return block.readUInt32BE(at - 4) / 2 ** 32
  }
}

export function pick<T>(list: readonly T[], draw: number): T {
  const found = list[Math.floor(draw * list.length)]
  if (found === undefined) throw new Error('nothing to pick from')
  return found
}

/**
 * Other letters of the same class and width for every letter and digit of a case. A letter is always replaced by the
 * same one, so that the pieces of a text still form the whole. Several letters are replaced by the same one, so that
 * the original cannot be restored.
 */
export class Letters {
  readonly #seed: string
  readonly #known = new Map<string, string>()
  readonly #kept = new Map<LetterClass, readonly string[]>()

  constructor(seed: string) {
    this.#seed = seed
  }

  text(value: string): string {
    return Array.from(value, (letter) => this.letter(letter)).join('')
  }

  letter(letter: string): string {
    const known = this.#known.get(letter) ?? this.#drawn(letter)
    this.#known.set(letter, known)
    return known
  }

  #drawn(letter: string): string {
    const row = CLASSES.find(({ has }) => has.test(letter))
    if (row === undefined) {
      if (LETTER.test(letter) && !SIGN.test(letter))
        throw new Error(`no class of letters has ${JSON.stringify(letter)}`)
      return letter
    }
    return pick(this.#keptOf(row), drawsOf(`${this.#seed} ${letter}`)())
  }

  #keptOf(row: LetterClass): readonly string[] {
    const found = this.#kept.get(row)
    if (found !== undefined) return found
    const draw = drawsOf(`${this.#seed} ${row.has}`)
    const letters = Array.from(row.letters)
    const kept = Array.from({ length: row.kept }, () => letters.splice(Math.floor(draw() * letters.length), 1).join(''))
    this.#kept.set(row, kept)
    return kept
  }
}
