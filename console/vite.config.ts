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

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), themeCss(), tableTextModules(), modernFonts()],
  server: { proxy: { '/cabinet/v1': 'http://127.0.0.1:8080', '/admin/v1': 'http://127.0.0.1:8080' } },
  build: {
    target: 'es2023',
    // light-dark() stays as it is.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // A data: URL would need a wider policy, and is never cached.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
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
