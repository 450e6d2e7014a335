import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin, type Rolldown } from 'vite'
import { ADMIN_ROUTES } from '../src/api/admin/contract.ts'
import { KNOWN_PROVIDERS } from '../src/catalog/known-providers.ts'
import { KNOWN_ADAPTERS } from '../src/protocols/index.ts'
import { themeCss } from './theme-css.ts'
import { AUTH_TYPES } from '../src/catalog/auth.ts'
import { LOG_FACTS, PAGE_SECTIONS, tableTexts } from './src/locales/table-texts.ts'

const NAME = 'virtual:texts/'
const FACTS = 'virtual:log-facts'
const ADAPTERS = 'virtual:adapters'
const SCOPES = 'virtual:admin-scopes'
/** It belongs to the file of the libraries, which imports none of ours. */
const SCROLL_AREA = 'virtual:node_modules/scroll-area'

/** The fields of each way to get a provider's tokens. */
const AUTH_FIELDS = Object.fromEntries(Object.entries(AUTH_TYPES).map(([type, { fields }]) => [type, fields]))

/** The scope of each route of the operator's API. */
const SCOPE_OF = Object.fromEntries(Object.entries(ADMIN_ROUTES).map(([route, { scope }]) => [route, scope]))

/** What a customer loads first. */
const FIRST = /console\/src\/(?:[^/]+$|shell\/(?!OpenedMenu|Finder)|api\/|pages\/home\/(?!FirstSteps|FirstArrival))/

/** The customer's pages that are opened by a link or a bookmark, with their modules. */
const PAGES = [
  ['/keys', '/pages/keys/KeysPage.tsx'],
  ['/usage', '/pages/usage/UsagePage.tsx'],
  ['/log', '/pages/usage/LogPage.tsx'],
  ['/models', '/pages/models/ModelsPage.tsx'],
  ['/playground', '/pages/playground/PlaygroundPage.tsx'],
  ['/top-up', '/pages/money/TopUpPage.tsx'],
] as const

/** Lists and menus that open over the page. */
const PICKERS = /@floating-ui|@mantine\/core\/.*\/(?:Popover|Menu|Combobox|Select|MultiSelect|Autocomplete|Pills?\w*)\//

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), themeCss(), tableTextModules(), modernFonts(), nativeScroll(), filesOfBoot()],
  // Dialogs lock the scroll by `base.css`: of the library's lock only its element is left.
  resolve: { alias: [{ find: /^react-remove-scroll$/, replacement: 'react-remove-scroll/UI' }] },
  server: {
    proxy: {
      '/cabinet/v1': 'http://127.0.0.1:8080',
      '/admin/v1': 'http://127.0.0.1:8080',
      '/brand.css': 'http://127.0.0.1:8080',
    },
  },
  build: {
    target: 'es2023',
    // light-dark() stays as it is.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // A data: URL would need a wider policy, and is never cached.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // A file costs a round trip, and small files compress badly. So the first load of a customer is two files, the
          // other pages share a third, and each page has what only it needs.
          groups: [
            {
              name: 'libraries',
              test: /node_modules/,
              tags: ['$initial'],
              includeDependenciesRecursively: false,
              priority: 4,
            },
            { name: 'first', test: FIRST, priority: 3 },
            { name: 'entry', test: /console\/src\/pages\/entry\//, priority: 3 },
            { name: 'pickers', test: PICKERS, priority: 2 },
            {
              name: 'calendar',
              test: /@mantine\/dates|dayjs|parts\/DayField/,
              priority: 1,
              includeDependenciesRecursively: false,
            },
            { name: 'shared', minShareCount: 3, includeDependenciesRecursively: false },
          ],
        },
      },
    },
  },
})

/** Of the three formats of each of KaTeX's fonts only WOFF2, which every browser of the target reads. */
function modernFonts(): Plugin {
  return {
    name: 'modern-fonts',
    enforce: 'pre',
    transform: (code, id) =>
      id.includes('katex.min.css') ? code.replaceAll(/,url\([^)]*\.(?:woff|ttf)\) format\("\w+"\)/g, '') : null,
  }
}

/**
 * Dialogs scroll as the browser does. The library's scroll area, which they only compare with, and what it needs to
 * place things would be a twelfth of the first load.
 */
function nativeScroll(): Plugin {
  return {
    name: 'native-scroll',
    enforce: 'pre',
    resolveId: (source, importer) =>
      source.endsWith('/ScrollArea.mjs') && /\/(?:Modal|Drawer)Root\.mjs$/.test(importer ?? '')
        ? `\0${SCROLL_AREA}`
        : null,
    load: (id) => (id === `\0${SCROLL_AREA}` ? 'export const ScrollArea = { Autosize: null }' : null),
  }
}

/**
 * The texts of a language as two modules of the build: what the first pages need, with the texts of the server's
 * tables, and what the others need too. So a browser loads neither the tables nor the texts of the other language.
 */
function tableTextModules(): Plugin {
  return {
    name: 'table-texts',
    resolveId: (id) => ([FACTS, ADAPTERS, SCOPES].includes(id) || id.startsWith(NAME) ? `\0${id}` : null),
    load(id) {
      if (id === `\0${ADAPTERS}`)
        return [
          `export const adapters = ${JSON.stringify([...KNOWN_ADAPTERS])}`,
          `export const authFields = ${JSON.stringify(AUTH_FIELDS)}`,
          `export const knownProviders = ${JSON.stringify(KNOWN_PROVIDERS)}`,
        ].join('\n')
      if (id === `\0${SCOPES}`) return `export const scopes = ${JSON.stringify(SCOPE_OF)}`
      if (id === `\0${FACTS}`) return `export const facts = ${JSON.stringify(LOG_FACTS)}`
      if (!id.startsWith(`\0${NAME}`)) return null
      const language = id.endsWith('/ru') ? 'ru' : 'en'
      const file = join(import.meta.dirname, `src/locales/${language}.json`)
      this.addWatchFile(file)
      const own: Readonly<Record<string, object>> = JSON.parse(readFileSync(file, 'utf8'))
      const isOfPages = id.includes('/pages/')
      const sections: readonly string[] = PAGE_SECTIONS
      const texts = Object.fromEntries(Object.entries(own).filter(([name]) => sections.includes(name) === isOfPages))
      return `export default ${JSON.stringify(isOfPages ? texts : { ...texts, ...tableTexts(language) })}`
    },
  }
}

/**
 * Tells `boot.js` the names of the files of texts and of the customer's pages, so that a browser asks for those that it
 * needs together with the scripts, and not after them.
 */
function filesOfBoot(): Plugin {
  return {
    name: 'files-of-boot',
    transformIndexHtml: {
      order: 'post',
      handler: (html, { bundle }) => {
        const chunks = Object.values(bundle ?? {}).filter((file) => file.type === 'chunk')
        const entries = chunks.filter((chunk) => chunk.isDynamicEntry)
        const ending = (path: string) => entries.find(({ facadeModuleId: id }) => id?.endsWith(path) === true)
        const texts = (['en', 'ru'] as const).flatMap((language) => {
          const files = ['first', 'pages'].map((part) => ending(`${NAME}${part}/${language}`)?.fileName)
          return files.every((file) => file !== undefined) ? [` data-texts-${language}="/${files.join(' /')}"`] : []
        })
        const first = chunks.find((chunk) => chunk.isEntry)
        const loaded = new Set(first === undefined ? [] : withImports(first.fileName, chunks).flatMap(filesOf))
        const pages = PAGES.map(([path, module]) => {
          // A page that is a part of another one too is no file of its own.
          const entry = chunks.find(({ moduleIds }) => moduleIds.some((id) => id.endsWith(module)))
          const files = entry === undefined ? [] : withImports(entry.fileName, chunks).flatMap(filesOf)
          return [path, files.filter((file) => !loaded.has(file)).map((file) => `/${file}`)] as const
        })
        const attributes = [...texts, ` data-pages='${JSON.stringify(Object.fromEntries(pages))}'`]
        return html.replace('src="/boot.js"', `src="/boot.js"${attributes.join('')}`)
      },
    },
  }
}

/** A chunk and those that it cannot do without. */
function withImports(name: string, chunks: readonly Rolldown.OutputChunk[], seen = new Set<string>()) {
  const chunk = seen.has(name) ? undefined : chunks.find(({ fileName }) => fileName === name)
  seen.add(name)
  const found: Rolldown.OutputChunk[] =
    chunk === undefined ? [] : [chunk, ...chunk.imports.flatMap((next) => withImports(next, chunks, seen))]
  return found
}

function filesOf(chunk: Rolldown.OutputChunk): readonly string[] {
  return [chunk.fileName, ...(chunk.viteMetadata?.importedCss ?? [])]
}
