import type { Token } from 'markdown-it'
import { createElement, memo, type ReactNode } from 'react'
import { CopyIconButton } from '../Copy.tsx'
import { onDemandOr } from '../OnDemand.tsx'
import { t, useReader } from '../words.ts'
import css from './markdown.module.css'
import { markdownTokens } from './parse.ts'

const Highlighted = onDemandOr('Highlighted', () => import('./Highlighted.tsx'), PlainCode)
const Formula = onDemandOr('Formula', () => import('./Formula.tsx'), Source)

/** Longer texts are shown as they are: the number of their elements would make the page slow. */
const CHARACTERS_MAX = 256_000
/** The only elements that Markdown can produce, besides links, code and formulas. */
const TAGS: ReadonlySet<string> = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol li blockquote strong em s br hr thead tbody tr th td'.split(' '),
)
/** Other addresses, especially `javascript:`, `data:` and those of this console, never become links. */
const LIVE_LINK = /^(?:https?:\/\/|mailto:)/i

/**
 * The Markdown of a model. Only its links to other sites are active: HTML is shown as text, and a picture is a link,
 * since loading it would reveal the reader to its host.
 */
export const MarkdownText = memo(function MarkdownText({ text }: { readonly text: string }): ReactNode {
  if (text.length > CHARACTERS_MAX) return <div className={css.plain}>{text}</div>
  return <div className={css.markdown}>{siblings(markdownTokens(text))}</div>
})

/** The elements for a list of tokens, with their nesting. */
function siblings(tokens: readonly Token[]): readonly ReactNode[] {
  const open: { readonly token: Token | null; readonly children: ReactNode[] }[] = [{ token: null, children: [] }]
  tokens.forEach((token, index) => {
    const parent = open.at(-1)
    if (parent === undefined) return
    if (token.nesting === 1) open.push({ token, children: [] })
    else if (token.nesting === 0) parent.children.push(<Single key={index} token={token} />)
    else {
      open.pop()
      open.at(-1)?.children.push(
        <Nested key={index} token={parent.token ?? token}>
          {parent.children}
        </Nested>,
      )
    }
  })
  return open[0]?.children ?? []
}

function Nested({ token, children }: { readonly token: Token; readonly children: readonly ReactNode[] }): ReactNode {
  if (token.hidden) return children
  if (token.tag === 'a') return <LinkTo href={token.attrGet('href')}>{children}</LinkTo>
  if (token.tag === 'table')
    return (
      <div className={css.table}>
        <table>{children}</table>
      </div>
    )
  if (!TAGS.has(token.tag)) return children
  const start = token.tag === 'ol' ? Number(token.attrGet('start') ?? 1) : undefined
  return createElement(elementOf(token.tag), start === undefined ? {} : { start }, ...children)
}

/** Headings of an answer are one or more levels below those of the page. */
function elementOf(tag: string): string {
  return /^h\d$/.test(tag) ? `h${Math.min(6, Number(tag.slice(1)) + 2)}` : tag
}

function Single({ token }: { readonly token: Token }): ReactNode {
  switch (token.type) {
    case 'inline':
      return siblings(token.children ?? [])
    case 'softbreak':
      return '\n'
    case 'hardbreak':
      return <br />
    case 'hr':
      return <hr />
    case 'code_inline':
      return <code>{token.content}</code>
    case 'fence':
    case 'code_block':
      return <Code text={token.content.replace(/\n$/, '')} language={token.info.trim().split(/\s/, 1)[0] ?? ''} />
    case 'formula_inline':
    case 'formula_block':
      return <Maths text={token.content} display={token.type === 'formula_block' || token.info === 'display'} />
    case 'image':
      return <LinkTo href={token.attrGet('src')}>{token.content === '' ? '🖼' : `🖼 ${token.content}`}</LinkTo>
  }
  return token.content
}

interface LinkToProps {
  readonly href: string | number | null
  readonly children: ReactNode
}

function LinkTo({ href, children }: LinkToProps): ReactNode {
  if (typeof href !== 'string' || !LIVE_LINK.test(href)) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}

function Code({ text, language }: { readonly text: string; readonly language: string }): ReactNode {
  useReader()
  return (
    <div className={css.code}>
      <div className={css.code_head}>
        <span>{language}</span>
        <CopyIconButton text={text} />
      </div>
      <pre tabIndex={0} role="region" aria-label={language === '' ? t('play.code') : `${t('play.code')}: ${language}`}>
        <code>{language === '' ? text : <Highlighted text={text} language={language} />}</code>
      </pre>
    </div>
  )
}

function Maths({ text, display }: { readonly text: string; readonly display: boolean }): ReactNode {
  const formula = <Formula text={text} display={display} />
  return display ? (
    <div className={css.display} tabIndex={0} role="group">
      {formula}
    </div>
  ) : (
    formula
  )
}

function PlainCode({ text }: { readonly text: string }): ReactNode {
  return text
}

/** A formula as the model wrote it. */
function Source({ text }: { readonly text: string }): ReactNode {
  return <code>{text}</code>
}
