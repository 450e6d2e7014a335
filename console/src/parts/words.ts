import i18next, { t } from 'i18next'
import { useContext, useSyncExternalStore } from 'react'
import { SessionContext } from '../session.tsx'
import { browserZone, createFormat, type Format } from './format.ts'

/** A text in the reader's language. */
export { t }

/** Numbers and times as the reader's language and time zone write them. A browser's tab has one reader. */
export let format: Format = createFormat('en', browserZone())

/** What `make` returns in another language, whose texts are loaded: a text for somebody else. */
export function inLanguage(language: string, make: () => string): string {
  // The library's type has no translator. Its own way to change the language draws the whole page anew.
  const { translator } = i18next as unknown as { readonly translator: { language: string } }
  const before = { language: translator.language, format }
  try {
    translator.language = language
    format = createFormat(language, format.zone)
    return make()
  } finally {
    translator.language = before.language
    format = before.format
  }
}

const drawn = new Set<() => void>()
i18next.on('languageChanged', (language) => {
  format = createFormat(language, format.zone)
  for (const draw of drawn) draw()
})

/** Called with the session, before what it shows is drawn. */
export function setZone(zone: string): void {
  if (zone !== format.zone) format = createFormat(i18next.language, zone)
}

/** Draws a part again in another language or time zone, and all below it but what is memoised. */
export function useReader(): Format {
  useContext(SessionContext)
  return useSyncExternalStore(subscribe, () => format)
}

function subscribe(draw: () => void): () => void {
  drawn.add(draw)
  return () => drawn.delete(draw)
}
