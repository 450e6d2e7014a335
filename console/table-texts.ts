import type { Plugin } from 'vite'
import { LOG_FACTS, tableTexts } from './src/locales/table-texts.ts'

const NAME = 'virtual:table-texts/'
const FACTS = 'virtual:log-facts'

/**
 * The texts of the server's tables as modules of the build, one for each language. So a browser loads neither the
 * tables, which few pages need, nor the texts of the other language.
 */
export function tableTextModules(): Plugin {
  return {
    name: 'table-texts',
    resolveId: (id) => (id === FACTS || id.startsWith(NAME) ? `\0${id}` : null),
    load: (id) => {
      if (id === `\0${FACTS}`) return `export const facts = ${JSON.stringify(LOG_FACTS)}`
      if (!id.startsWith(`\0${NAME}`)) return null
      const language = id.endsWith('/ru') ? 'ru' : 'en'
      return `export const tables = ${JSON.stringify(tableTexts(language))}`
    },
  }
}
