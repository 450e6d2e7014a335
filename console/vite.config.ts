import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { ADMIN_ROUTES } from '../src/admin/contract.ts'
import { KNOWN_PROVIDERS } from '../src/catalog/known-providers.ts'
import { KNOWN_ADAPTERS } from '../src/providers/index.ts'
import { themeCss } from './theme-css.ts'
import { LOG_FACTS, tableTexts } from './src/locales/table-texts.ts'

const NAME = 'virtual:table-texts/'
const FACTS = 'virtual:log-facts'
const ADAPTERS = 'virtual:adapters'
const SCOPES = 'virtual:admin-scopes'

/** The scope of each route of the operator's API. */
const SCOPE_OF = Object.fromEntries(Object.entries(ADMIN_ROUTES).map(([route, { scope }]) => [route, scope]))

/** What a customer loads first. */
const FIRST = /console\/src\/(?:[^/]+$|shell\/(?!OpenedMenu)|api\/|pages\/home\/(?!FirstSteps|FirstArrival))/

/** Lists and menus that open over the page. */
const PICKERS = /@floating-ui|@mantine\/core\/.*\/(?:Popover|Menu|Combobox|Select|MultiSelect|Autocomplete|Pills?\w*)\//

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), themeCss(), tableTextModules(), modernFonts(), textsOfBoot()],
  // Dialogs lock the scroll by `base.css`: of the library's lock only its element is left.
  resolve: { alias: [{ find: /^react-remove-scroll$/, replacement: 'react-remove-scroll/UI' }] },
  server: { proxy: { '/cabinet/v1': 'http://127.0.0.1:8080', '/admin/v1': 'http://127.0.0.1:8080' } },
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
            { name: 'calendar', test: /@mantine\/dates|dayjs/, priority: 1 },
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
 * The texts of the server's tables as modules of the build, one for each language. So a browser loads neither the
 * tables, which few pages need, nor the texts of the other language.
 */
function tableTextModules(): Plugin {
  return {
    name: 'table-texts',
    resolveId: (id) => ([FACTS, ADAPTERS, SCOPES].includes(id) || id.startsWith(NAME) ? `\0${id}` : null),
    load: (id) => {
      if (id === `\0${ADAPTERS}`)
        return [
          `export const adapters = ${JSON.stringify([...KNOWN_ADAPTERS])}`,
          `export const knownProviders = ${JSON.stringify(KNOWN_PROVIDERS)}`,
        ].join('\n')
      if (id === `\0${SCOPES}`) return `export const scopes = ${JSON.stringify(SCOPE_OF)}`
      if (id === `\0${FACTS}`) return `export const facts = ${JSON.stringify(LOG_FACTS)}`
      if (!id.startsWith(`\0${NAME}`)) return null
      const language = id.endsWith('/ru') ? 'ru' : 'en'
      return `export const tables = ${JSON.stringify(tableTexts(language))}`
    },
  }
}

/** Tells `boot.js` the names of the files of texts, so that a browser asks for its own with the scripts. */
function textsOfBoot(): Plugin {
  return {
    name: 'texts-of-boot',
    transformIndexHtml: {
      order: 'post',
      handler: (html, { bundle }) => {
        const files = Object.values(bundle ?? {}).flatMap((file) =>
          file.type === 'chunk' && file.isDynamicEntry
            ? (['en', 'ru'] as const)
                .filter((language) => file.facadeModuleId?.endsWith(`/locales/${language}.ts`) === true)
                .map((language) => ` data-texts-${language}="/${file.fileName}"`)
            : [],
        )
        return html.replace('src="/boot.js"', `src="/boot.js"${files.toSorted().join('')}`)
      },
    },
  }
}
