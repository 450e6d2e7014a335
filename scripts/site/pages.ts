import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** The name of a README on the site. */
const INDEX = 'index'

/** A page of `docs`. */
export interface Page {
  /** Its path in `docs`. */
  readonly path: string
  /** Its path on the site, without an extension; a README is the index of its folder. */
  readonly route: string
  /** Its first heading, without Markdown. */
  readonly title: string
  /** Its first sentence. */
  readonly summary: string
  readonly text: string
}

export function readPages(docs: string): readonly Page[] {
  return globSync('**/*.md', { cwd: docs })
    .toSorted()
    .map((path) => {
      const text = readFileSync(join(docs, path), 'utf8')
      const [, title = path] = /^# (.+)$/m.exec(text) ?? []
      const [summary = ''] =
        text
          .replaceAll(/^```.*?^```/gms, '')
          .split('\n\n')
          .map((part) => plain(part.trim()))
          .filter((part) => /^\p{L}.*[.:]$/su.test(part)) ?? []
      return {
        path,
        route: routeOf(path),
        title: plain(title),
        summary: /^.+?[.:](?=\s|$)/.exec(summary)?.[0] ?? '',
        text,
      }
    })
}

function routeOf(path: string): string {
  return basename(path) === 'README.md' ? join(dirname(path), INDEX) : path.replace(/\.md$/, '')
}

function plain(text: string): string {
  return text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll('\n', ' ')
}

/** A link to a page, as it must be on the site. */
export function linkOnSite(link: string): string {
  return link.replace(/(?<=^|\/)README\.md(?=#|$)/, `${INDEX}.md`)
}

/** The id that GitHub gives to a heading, without the number of a repeated heading. */
export function anchorOf(heading: string): string {
  return heading
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .trim()
    .toLowerCase()
    .replaceAll(' ', '-')
}
