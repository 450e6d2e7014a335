import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startTollgate } from '../test/harness/server.ts'
import { brokenLinks } from './site/broken-links.ts'
import { linkOnSite, readPages, type Page } from './site/pages.ts'

/**
 * Makes `site/dist` from `docs`: the pages, also as Markdown, `llms.txt` and `llms-full.txt`, and the reference of a
 * running server. A broken link fails the build.
 */
const ROOT = join(import.meta.dirname, '..')
const OUT = join(ROOT, 'site/dist')
const VITEPRESS = join(ROOT, 'site/node_modules/vitepress/bin/vitepress.js')

if (!existsSync(VITEPRESS)) stop('VitePress is not installed: npm ci --prefix site')
const { status } = spawnSync(process.execPath, [VITEPRESS, 'build', 'site'], { cwd: ROOT, stdio: 'inherit' })
if (status !== 0) stop('VitePress failed')
const pages = readPages(join(ROOT, 'docs'))
for (const page of pages) {
  write(`${page.route}.md`, markdownOf(page))
  // VitePress renames pictures, and the Markdown still has their old names.
  for (const [, picture = ''] of page.text.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)) {
    const path = join(dirname(page.path), picture)
    write(path, readFileSync(join(ROOT, 'docs', path)))
  }
}
write('llms.txt', index(pages))
write(
  'llms-full.txt',
  pages
    .filter(({ path }) => !isRussian(path))
    .map(markdownOf)
    .join('\n\n---\n\n'),
)
await writeReference()
const broken = brokenLinks(OUT)
if (broken.length > 0) stop(`Links that lead nowhere:\n${broken.join('\n')}`)
process.stdout.write(`${pages.length} pages in ${OUT}\n`)

function markdownOf({ text }: Page): string {
  return text.replaceAll(/(?<=\]\()[^)\s]+(?=\))/g, linkOnSite)
}

function isRussian(path: string): boolean {
  return path.startsWith('ru/')
}

/** In the format of llmstxt.org. */
function index(all: readonly Page[]): string {
  const line = ({ route, title, summary }: Page): string => `- [${title}](/${route}.md): ${summary}`
  const [home] = all.filter(({ route }) => route === 'index')
  const list = (isWanted: (path: string) => boolean): string =>
    all
      .filter(({ path }) => path !== home?.path && isWanted(path))
      .map(line)
      .join('\n')
  const isDecision = (path: string): boolean => path.startsWith('decisions/')
  return `# Tollgate

> ${home?.summary ?? ''}

All English pages in one file: [llms-full.txt](/llms-full.txt). Every route for programs: [openapi.json](/openapi/openapi.json).

## Pages

${list((path) => !isRussian(path) && !isDecision(path))}

## Russian

${list(isRussian)}

## Optional

${list(isDecision)}
`
}

/** The page of the API that a server shows, with the document that it is made from. */
async function writeReference(): Promise<void> {
  const server = await startTollgate({ audited: false })
  try {
    const [page, style, document] = await Promise.all(
      ['/docs', '/docs.css', '/openapi.json'].map((path) => server.request('GET', path)),
    )
    write('openapi/index.html', (page?.text ?? '').replaceAll(/href="\/(docs\.css|openapi\.json)"/g, 'href="$1"'))
    write('openapi/docs.css', style?.text ?? '')
    write('openapi/openapi.json', document?.text ?? '')
  } finally {
    await server.stop()
  }
}

function write(name: string, content: string | Buffer): void {
  const path = join(OUT, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

function stop(sentence: string): never {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
