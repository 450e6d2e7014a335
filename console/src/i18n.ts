import i18next from 'i18next'
import { initReactI18next } from 'react-i18next'
import type en from './locales/en.json'
import type { Language } from '../../src/cabinet/contract.ts'

declare module 'i18next' {
  interface CustomTypeOptions {
    resources: { translation: typeof en }
  }
}

const STORED = 'tollgate-language'
const LOADERS: Readonly<Record<Language, () => Promise<{ readonly default: object }>>> = {
  en: () => import('./locales/en.json'),
  ru: () => import('./locales/ru.json'),
}

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
  if (!i18next.isInitialized) await i18next.use(initReactI18next).init({ lng: language, fallbackLng: false, interpolation: { escapeValue: false }, resources: {}, react: { useSuspense: false } })
  if (!i18next.hasResourceBundle(language, 'translation')) i18next.addResourceBundle(language, 'translation', (await LOADERS[language]()).default)
  await i18next.changeLanguage(language)
  localStorage.setItem(STORED, language)
  document.documentElement.lang = language
}
