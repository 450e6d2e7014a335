import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** The name of a folder's README on the site. */
const INDEX = 'index'

/** A page of `docs`. */
export interface Page {
  /** In `docs`. */
  readonly path: string
  /** On the site, without an ending; a README is the index of its folder. */
  readonly route: string
  /** Its first heading, without marks. */
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

/** What a link to a page leads to on the site. */
export function linkOnSite(link: string): string {
  return link.replace(/(?<=^|\/)README\.md(?=#|$)/, `${INDEX}.md`)
}

/** The name by which GitHub links to a heading, before it numbers the second of that name. */
export function anchorOf(heading: string): string {
  return heading
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .trim()
    .toLowerCase()
    .replaceAll(' ', '-')
}
