import i18next from 'i18next'
import type en from './locales/en.json'
import type operatorEn from './locales/operator.en.json'
import type { TableTexts } from './locales/table-texts.ts'
import type { Language } from '../../src/api/cabinet/session-contract.ts'

declare module 'i18next' {
  interface CustomTypeOptions {
    resources: { translation: typeof en & typeof operatorEn & TableTexts }
  }
}

const STORED = 'tollgate-language'
/** What loads the texts: the first pages, the pages behind them, and those of the operator. */
type Part = 'first' | 'pages' | 'operator'
const LOADERS: Readonly<Record<Part, Readonly<Record<Language, () => Promise<{ readonly default: object }>>>>> = {
  first: { en: () => import('virtual:texts/first/en'), ru: () => import('virtual:texts/first/ru') },
  pages: { en: () => import('virtual:texts/pages/en'), ru: () => import('virtual:texts/pages/ru') },
  operator: { en: () => import('./locales/operator.en.json'), ru: () => import('./locales/operator.ru.json') },
}
const wanted = new Set<Part>(['first'])
const loaded = new Set<string>()
/** The language whose texts are being loaded, or are loaded. */
const chosen: { language: Language | null } = { language: null }

/**
 * The language that `boot.js` found: one that was chosen in this browser earlier, or else the first of the browser's
 * languages that the console has.
 */
export function preferredLanguage(): Language {
  return document.documentElement.lang === 'ru' ? 'ru' : 'en'
}

export function currentLanguage(): Language {
  return i18next.language === 'ru' ? 'ru' : 'en'
}

/** Loads the texts of a language and uses them from now on. */
export async function speak(language: Language): Promise<void> {
  if (!i18next.isInitialized)
    await i18next.init({ lng: language, fallbackLng: false, interpolation: { escapeValue: false }, resources: {} })
  chosen.language = language
  await learn(language)
  await i18next.changeLanguage(language)
  localStorage.setItem(STORED, language)
  document.documentElement.lang = language
}

/** Loads the texts of a language. */
export async function learn(language: Language): Promise<void> {
  await Promise.all(
    [...wanted].map(async (part) => {
      const name = `${part} ${language}`
      if (loaded.has(name)) return
      i18next.addResourceBundle(language, 'translation', (await LOADERS[part][language]()).default, true)
      loaded.add(name)
    }),
  )
}

/** Loads the texts of further pages, in this language and in each one that is chosen later. */
export async function speakOf(...parts: readonly Part[]): Promise<void> {
  for (const part of parts) wanted.add(part)
  await Promise.all([learn(currentLanguage()), learn(chosen.language ?? currentLanguage())])
}
