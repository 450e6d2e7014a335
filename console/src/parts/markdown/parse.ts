import markdownIt, { type StateBlock, type StateInline, type Token } from 'markdown-it'

/** The most lines in which the end of a formula is searched for. */
const FORMULA_LINES_MAX = 100
const DELIMITERS = [
  ['$$', '$$'],
  [String.raw`\[`, String.raw`\]`],
] as const

/**
 * HTML stays text, and plain addresses do not become links. Formulas are tokens of the types `formula_inline` and
 * `formula_block`.
 */
const markdown = markdownIt({ html: false, linkify: false, typographer: false, breaks: false })
markdown.inline.ruler.before('escape', 'formula_inline', inlineFormula)
markdown.block.ruler.before('fence', 'formula_block', blockFormula, {
  alt: ['paragraph', 'reference', 'blockquote', 'list'],
})

/** The tokens of a Markdown text, in linear time. */
export function markdownTokens(text: string): readonly Token[] {
  return markdown.parse(text, {})
}

/** Delimiters without an end in the rest of a text: without this, many opening delimiters take quadratic time. */
const unended = new WeakMap<StateInline, Set<string>>()

function inlineFormula(state: StateInline, silent: boolean): boolean {
  const found = formulaAt(state)
  if (found === null) return false
  if (!silent) {
    const token = state.push('formula_inline', 'span', 0)
    token.content = found.text
    token.info = found.display ? 'display' : ''
  }
  state.pos = found.end
  return true
}

interface Formula {
  readonly text: string
  readonly display: boolean
  readonly end: number
}

function formulaAt(state: StateInline): Formula | null {
  const { src, pos } = state
  const open = src.slice(pos, pos + 2)
  switch (open) {
    case '$$':
    case String.raw`\[`:
      return delimited(state, open, open === '$$' ? open : String.raw`\]`, true)
    case String.raw`\(`:
      return delimited(state, open, String.raw`\)`, false)
  }
  return open.startsWith('$') ? dollars(state) : null
}

function delimited(state: StateInline, open: string, close: string, display: boolean): Formula | null {
  const missing = unended.get(state) ?? new Set()
  unended.set(state, missing)
  // Within the text of a link the state ends earlier.
  const search = `${close}${state.posMax}`
  if (missing.has(search)) return null
  const from = state.pos + open.length
  const end = state.src.indexOf(close, from)
  if (end === -1 || end >= state.posMax) {
    missing.add(search)
    return null
  }
  const text = state.src.slice(from, end).trim()
  return text === '' ? null : { text, display, end: end + close.length }
}

/**
 * `$x$`: no space inside the signs and no digit after them, so that prices stay text. Only the next sign can end it.
 */
function dollars({ src, pos, posMax }: StateInline): Formula | null {
  if (/\s|\$/.test(src[pos + 1] ?? ' ')) return null
  let end = src.indexOf('$', pos + 1)
  while (end !== -1 && src[end - 1] === '\\') end = src.indexOf('$', end + 1)
  if (end === -1 || end >= posMax || /\s/.test(src[end - 1] ?? ' ') || /[\d$]/.test(src[end + 1] ?? '')) return null
  return { text: src.slice(pos + 1, end), display: false, end: end + 1 }
}

/** By end delimiter: the line before which it was not found. */
const endless = new WeakMap<StateBlock, Map<string, number>>()

/** A formula on lines of its own, in which other Markdown has no meaning. */
function blockFormula(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const start = lineStart(state, startLine)
  const delimiter = DELIMITERS.find(([open]) => state.src.startsWith(open, start))
  if (delimiter === undefined) return false
  const [open, close] = delimiter
  const last = endOfFormula(state, startLine, endLine, start + open.length, close)
  if (last === null) return false
  const text = state.src.slice(start + open.length, lineEnd(state, last) - close.length).trim()
  if (text === '') return false
  if (silent) return true
  state.line = last + 1
  const token = state.push('formula_block', 'div', 0)
  token.block = true
  token.content = text
  token.map = [startLine, state.line]
  return true
}

/** The line that ends with the delimiter. */
function endOfFormula(
  state: StateBlock,
  startLine: number,
  endLine: number,
  textStart: number,
  close: string,
): number | null {
  const ends = (line: number): boolean => {
    const at = lineEnd(state, line) - close.length
    return at >= textStart && state.src.startsWith(close, at)
  }
  if (ends(startLine)) return startLine
  const searched = endless.get(state) ?? new Map<string, number>()
  endless.set(state, searched)
  const last = Math.min(endLine, startLine + FORMULA_LINES_MAX)
  for (let line = Math.max(startLine + 1, searched.get(close) ?? 0); line < last; line += 1) {
    if (ends(line)) return line
    searched.set(close, line + 1)
  }
  return null
}

function lineStart(state: StateBlock, line: number): number {
  return (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0)
}

function lineEnd(state: StateBlock, line: number): number {
  let end = state.eMarks[line] ?? 0
  while (end > 0 && /[ \t]/.test(state.src[end - 1] ?? '')) end -= 1
  return end
}
