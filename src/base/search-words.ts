/** Longer words are cut, in what is searched and in what is asked. */
const WORD_CHARS_MAX = 40
/** The most words of one record, and of one query. */
const WORDS_MAX = 32
const ASKED_WORDS_MAX = 8
/** Signs such as `%` and `№` are words of their own; punctuation only separates words. */
const WORD = /[\p{L}\p{M}\p{N}_]+|[\p{S}%&#*]+/gu

/** A text as it is compared: without the difference of letter cases, of ё and е, and of forms of the same letter. */
function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase().replaceAll('ё', 'е')
}

function cut(words: readonly string[], most: number): readonly string[] {
  return [...new Set(words.filter((word) => word !== '').map((word) => word.slice(0, WORD_CHARS_MAX)))].slice(0, most)
}

function split(text: string): readonly string[] {
  return folded(text).match(WORD) ?? []
}

/** The words by which a record is found: of its id, and of its texts, where `a_b` is found by `b` too. */
export function wordsOf(id: string, texts: readonly (string | null)[]): readonly string[] {
  const words = split(texts.filter((text) => text !== null).join(' '))
  return cut([...split(id), ...words, ...words.flatMap((word) => word.split('_'))], WORDS_MAX)
}

/** The words of a query. A record is found if each of them is the beginning of one of its words. */
export function askedWords(query: string): readonly string[] {
  return cut(split(query), ASKED_WORDS_MAX)
}

/** Whether a query finds these texts. It is for short lists, so each of its words may be anywhere in them. */
export function isFound(query: string, ...texts: readonly (string | null | undefined)[]): boolean {
  const all = folded(texts.join(' '))
  return folded(query)
    .split(/\s+/)
    .every((word) => all.includes(word))
}
