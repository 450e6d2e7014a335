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
/** A text that exists in English but not in another language does not compile. */
type Loaders<Texts> = Readonly<Record<Language, () => Promise<Texts>>>
const LOADERS: Loaders<typeof en & TableTexts> = {
  en: async () => (await import('./locales/en.ts')).texts,
  ru: async () => (await import('./locales/ru.ts')).texts,
}

/** Only the operator's pages load these texts. */
const OPERATOR_LOADERS: Loaders<typeof operatorEn> = {
  en: async () => (await import('./locales/operator.en.json')).default,
  ru: async () => (await import('./locales/operator.ru.json')).default,
}
const ofOperator = { wanted: false, loaded: new Set<Language>() }

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
  await learn(language)
  await i18next.changeLanguage(language)
  localStorage.setItem(STORED, language)
  document.documentElement.lang = language
}

/** Loads the texts of a language. */
export async function learn(language: Language): Promise<void> {
  if (!i18next.hasResourceBundle(language, 'translation'))
    i18next.addResourceBundle(language, 'translation', await LOADERS[language]())
  if (ofOperator.wanted) await loadOperator(language)
}

/** Loads the texts of the operator's pages, in this language and in each one that is chosen later. */
export async function speakToOperator(): Promise<void> {
  ofOperator.wanted = true
  await loadOperator(currentLanguage())
}

async function loadOperator(language: Language): Promise<void> {
  if (ofOperator.loaded.has(language)) return
  i18next.addResourceBundle(language, 'translation', await OPERATOR_LOADERS[language](), true)
  ofOperator.loaded.add(language)
}
