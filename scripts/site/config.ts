import { join } from 'node:path'
import { RUSSIAN, SECTIONS } from './navigation.ts'
import { anchorOf, linkOnSite, readPages, type Page } from './pages.ts'

/** Pages are read from their folder: VitePress runs in the root of the project. */
const DOCS = join(process.cwd(), 'docs')
/** Pages by their name in the navigation: the path without the extension. */
const pages: ReadonlyMap<string, Page> = new Map(readPages(DOCS).map((page) => [page.path.replace(/\.md$/, ''), page]))

interface Item {
  readonly text: string
  readonly link: string
}

function item(name: string): Item {
  const page = pages.get(name)
  if (page === undefined) throw new Error(`scripts/site/navigation.ts names ${name}, which is not there.`)
  return { text: page.title.replace(/^\d+\. /, ''), link: linkOf(page) }
}

function linkOf({ route }: Page): string {
  return `/${route.replace(/index$/, '')}`
}

const decisions = [...pages.keys()].filter((name) => /^decisions\/\d/.test(name))
const sections = [...SECTIONS, ['Decisions', ['decisions/README', ...decisions]] as const]
const listed = new Set<string>([...sections.flatMap(([, names]) => names), ...RUSSIAN])
const unlisted = [...pages.keys()].filter((path) => !listed.has(path))
if (unlisted.length > 0) throw new Error(`scripts/site/navigation.ts has no place for ${unlisted.join(', ')}.`)

const API: Item & { readonly target: string } = { text: 'OpenAPI', link: '/openapi/', target: '_self' }
const LINKS = [
  ['Start', 'start'],
  ['Clients', 'clients/README'],
  ['Money', 'money'],
  ['Operations', 'operations'],
  ['Reference', 'reference/README'],
] as const

/** The settings of VitePress; `site/.vitepress/config.ts` exports them. */
export const siteConfig = {
  title: 'Tollgate',
  description: 'A self-hosted, billing-grade model-access proxy',
  srcDir: DOCS,
  outDir: './dist',
  cacheDir: './node_modules/.cache/vitepress',
  cleanUrls: true,
  rewrites: Object.fromEntries(
    [...pages.values()].flatMap(({ path, route }) => (path.endsWith('README.md') ? [[path, `${route}.md`]] : [])),
  ),
  locales: {
    root: { label: 'English', lang: 'en' },
    ru: {
      label: 'Русский',
      lang: 'ru',
      description: 'Собственный шлюз к моделям с точным учётом денег',
      themeConfig: {
        nav: RUSSIAN.slice(1).map(item),
        sidebar: { '/ru/': [{ text: 'Документация', items: RUSSIAN.map(item) }] },
        outline: { level: [2, 3], label: 'На этой странице' },
        docFooter: { prev: 'Назад', next: 'Дальше' },
        darkModeSwitchLabel: 'Тема',
        lightModeSwitchTitle: 'Светлая тема',
        darkModeSwitchTitle: 'Тёмная тема',
        sidebarMenuLabel: 'Меню',
        returnToTopLabel: 'Наверх',
        langMenuLabel: 'Язык',
        skipToContentLabel: 'К содержанию',
      },
    },
  },
  themeConfig: {
    // Most pages have no Russian version, so the switch leads to the home page.
    i18nRouting: false,
    nav: [...LINKS.map(([text, name]) => ({ ...item(name), text })), API],
    sidebar: sections.map(([text, paths], index) => ({
      text,
      collapsed: index > 0,
      items: [...paths.map(item), ...(text === 'Reference' ? [API] : [])],
    })),
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        locales: {
          ru: {
            translations: {
              button: { buttonText: 'Поиск', buttonAriaLabel: 'Поиск' },
              modal: {
                displayDetails: 'Показать подробности',
                resetButtonTitle: 'Очистить',
                backButtonTitle: 'Закрыть',
                noResultsText: 'Ничего не найдено:',
                footer: { selectText: 'открыть', navigateText: 'выбрать', closeText: 'закрыть' },
              },
            },
          },
        },
      },
    },
  },
  markdown: {
    // Braces in a heading, as in the path of a route, are text, not attributes.
    attrs: { disable: true },
    // Headings have the same ids here as on GitHub.
    anchor: { slugify: anchorOf },
    config: renameLinks,
  },
  // The search index is one large chunk.
  vite: { build: { chunkSizeWarningLimit: 2000 } },
}

/** The parts of markdown-it that are needed here. */
interface MarkdownIt {
  readonly core: { readonly ruler: { push(name: string, rule: (state: { readonly tokens: Token[] }) => void): void } }
}

interface Token {
  readonly children: readonly Token[] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}

/** VitePress serves a README under another name but does not change links to it. */
function renameLinks(markdown: MarkdownIt): void {
  markdown.core.ruler.push('rename_links', ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const link = token.attrGet('href')
      if (link !== null) token.attrSet('href', linkOnSite(link))
    }
  })
}
