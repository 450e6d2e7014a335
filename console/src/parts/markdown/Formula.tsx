import { renderToString } from 'katex'
import 'katex/dist/katex.min.css'
import { createElement, memo, type ReactNode } from 'react'

const CHARACTERS_MAX = 4_000
const EMS_MAX = 40
const MACROS_MAX = 200
/** Attributes of KaTeX's elements that are kept. */
const KEPT: ReadonlySet<string> = new Set(
  'accent aria-hidden class columnalign columnlines columnspacing d depth display displaystyle encoding fence form height lspace linethickness mathvariant maxsize minsize notation preserveAspectRatio rowalign rowlines rowspacing rspace scriptlevel separator stretchy viewBox voffset width xmlns x1 x2 y1 y2 stroke-width'.split(
    ' ',
  ),
)
const REFUSED: ReadonlySet<string> = new Set(['a', 'img', 'script', 'style', 'iframe', 'object', 'embed'])
const ELEMENT_NODE = 1
const TEXT_NODE = 3

interface FormulaProps {
  readonly text: string
  readonly display: boolean
}

/** A LaTeX formula; its source if it cannot be rendered. */
export const Formula = memo(function Formula({ text, display }: FormulaProps): ReactNode {
  return formulaNodes(text, display) ?? <code>{text}</code>
})

/**
 * The content security policy refuses `style` attributes in markup, and no text of a model may become live HTML. So the
 * markup is parsed into a separate document and rebuilt element by element. KaTeX escapes each quotation mark in a
 * text, so ` style="` is always KaTeX's own.
 */
function formulaNodes(text: string, display: boolean): ReactNode {
  if (text.length > CHARACTERS_MAX) return null
  try {
    const markup = renderToString(text, {
      displayMode: display,
      throwOnError: true,
      strict: 'ignore',
      trust: false,
      maxSize: EMS_MAX,
      maxExpand: MACROS_MAX,
    })
    const { body } = new DOMParser().parseFromString(markup.replaceAll(' style="', ' data-style="'), 'text/html')
    return [...body.childNodes].map(elementOf)
  } catch {
    // The text is not a formula, or its nesting exceeds the stack.
    return null
  }
}

function elementOf(node: ChildNode, key: number): ReactNode {
  if (node.nodeType === TEXT_NODE) return node.textContent
  if (node.nodeType !== ELEMENT_NODE) return null
  // The node's type says that it is an element.
  const element = node as Element
  const name = element.localName
  if (REFUSED.has(name)) return null
  const attributes = [...element.attributes].filter((attribute) => KEPT.has(attribute.name))
  return createElement(
    name,
    {
      key,
      ...Object.fromEntries(attributes.map((attribute) => [reactName(attribute.name), attribute.value])),
      style: styleOf(element.getAttribute('data-style') ?? ''),
    },
    ...[...element.childNodes].map(elementOf),
  )
}

function reactName(name: string): string {
  if (name === 'class') return 'className'
  return name === 'stroke-width' ? 'strokeWidth' : name
}

/** Turns `height:1em;top:2em` into React's style names. */
function styleOf(text: string): Readonly<Record<string, string>> {
  const entries = text.split(';').flatMap((part) => {
    const colon = part.indexOf(':')
    if (colon === -1) return []
    const name = part.slice(0, colon).trim()
    return [[name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()), part.slice(colon + 1).trim()]]
  })
  // Each entry is a pair.
  return Object.fromEntries(entries) as Readonly<Record<string, string>>
}
