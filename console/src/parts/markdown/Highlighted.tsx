import { common, createLowlight } from 'lowlight'
import { memo, type ReactNode } from 'react'

const lowlight = createLowlight(common)
/** The grammars are regular expressions, some of which are slow for unusual code. */
const CHARACTERS_MAX = 50_000
const CHARACTERS_OF_LINE_MAX = 2_000

type Tree = ReturnType<typeof lowlight.highlight>
type Node = Tree['children'][number]

interface HighlightedProps {
  readonly text: string
  readonly language: string
}

/** Code with the token classes of its language; plain if the language is unknown. */
export const Highlighted = memo(function Highlighted({ text, language }: HighlightedProps): ReactNode {
  const tame = text.length <= CHARACTERS_MAX && text.split('\n').every(({ length }) => length <= CHARACTERS_OF_LINE_MAX)
  if (!tame || !lowlight.registered(language)) return text
  return lowlight.highlight(language, text).children.map(elementOf)
})

function elementOf(node: Node, key: number): ReactNode {
  if (node.type === 'text') return node.value
  if (node.type !== 'element') return null
  const classes = node.properties['className']
  return (
    <span key={key} className={Array.isArray(classes) ? classes.join(' ') : ''}>
      {node.children.map(elementOf)}
    </span>
  )
}
