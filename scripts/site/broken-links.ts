import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'

const LINK = /\s(?:href|src)="([^"]*)"/g
const ID = /\sid="([^"]*)"/g
const HERE = 'http://site.invalid'

/** Links and pictures of a built site without a target, as `page → link`. Links to other hosts are not checked. */
export function brokenLinks(site: string): readonly string[] {
  const ids = new Map<string, ReadonlySet<string>>()
  const idsOf = (file: string): ReadonlySet<string> => {
    const known = ids.get(file) ?? new Set([...readFileSync(file, 'utf8').matchAll(ID)].map(([, id = '']) => id))
    ids.set(file, known)
    return known
  }
  return globSync('**/*.html', { cwd: site }).flatMap((page) =>
    [...readFileSync(join(site, page), 'utf8').matchAll(LINK)].flatMap(([, link = '']) => {
      const url = new URL(link.replaceAll('&amp;', '&'), `${HERE}/${page}`)
      if (url.origin !== HERE) return []
      const file = fileOf(site, decodeURIComponent(url.pathname))
      const anchor = decodeURIComponent(url.hash.slice(1))
      const leads = file !== null && (anchor === '' || !file.endsWith('.html') || idsOf(file).has(anchor))
      return leads ? [] : [`${page} → ${link}`]
    }),
  )
}

/** The file that a static file server would return; null = there is none. */
export function fileOf(site: string, path: string): string | null {
  const file = join(site, path)
  if (relative(site, file).startsWith('..')) return null
  return (
    [file, `${file}.html`, join(file, 'index.html')].find((name) => existsSync(name) && statSync(name).isFile()) ?? null
  )
}
