import i18next from 'i18next'
import { initReactI18next } from 'react-i18next'
import type en from './locales/en.json'
import type operatorEn from './locales/operator.en.json'
import type { Language } from '../../src/cabinet/contract.ts'

declare module 'i18next' {
  interface CustomTypeOptions {
    resources: { translation: typeof en & typeof operatorEn }
  }
}

const STORED = 'tollgate-language'
const LOADERS: Readonly<Record<Language, () => Promise<{ readonly default: object }>>> = {
  en: () => import('./locales/en.json'),
  ru: () => import('./locales/ru.json'),
}

/** What only the operator's pages say: the others do not load it. */
const OPERATOR_LOADERS: typeof LOADERS = {
  en: () => import('./locales/operator.en.json'),
  ru: () => import('./locales/operator.ru.json'),
}
const ofOperator = { wanted: false, loaded: new Set<Language>() }

/** The language chosen here before, else the first of the browser's that we have. */
export function preferredLanguage(): Language {
  const stored = localStorage.getItem(STORED)
  if (stored === 'en' || stored === 'ru') return stored
  const known = navigator.languages.map((name) => name.slice(0, 2)).find((name) => name === 'en' || name === 'ru')
  return known === 'ru' ? 'ru' : 'en'
}

export function currentLanguage(): Language {
  return i18next.language === 'ru' ? 'ru' : 'en'
}

/** Loads a language's texts, and uses them from now on. */
export async function speak(language: Language): Promise<void> {
  if (!i18next.isInitialized)
    await i18next
      .use(initReactI18next)
      .init({
        lng: language,
        fallbackLng: false,
        interpolation: { escapeValue: false },
        resources: {},
        react: { useSuspense: false },
      })
  if (!i18next.hasResourceBundle(language, 'translation'))
    i18next.addResourceBundle(language, 'translation', (await LOADERS[language]()).default)
  if (ofOperator.wanted) await loadOperator(language)
  await i18next.changeLanguage(language)
  localStorage.setItem(STORED, language)
  document.documentElement.lang = language
}

/** Loads the texts of the operator's pages, in this language and in each that is chosen later. */
export async function speakToOperator(): Promise<void> {
  ofOperator.wanted = true
  await loadOperator(currentLanguage())
}

async function loadOperator(language: Language): Promise<void> {
  if (ofOperator.loaded.has(language)) return
  i18next.addResourceBundle(language, 'translation', (await OPERATOR_LOADERS[language]()).default, true)
  ofOperator.loaded.add(language)
}
