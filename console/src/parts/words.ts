import type { TFunction } from 'i18next'
import { useContext, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { SessionContext } from '../session.tsx'
import { browserZone, createFormat, type Format } from './format.ts'

/** By language and time zone. A list has a reader of it in each row, and making it takes longer than drawing the row. */
const formats = new Map<string, Format>()

/** The texts of the reader's language, and its numbers and times in the reader's time zone. */
export interface Words {
  readonly t: TFunction
  readonly format: Format
}

export function useWords(): Words {
  const { t, i18n } = useTranslation()
  const zone = useContext(SessionContext)?.profile?.timezone ?? browserZone()
  const name = `${i18n.language} ${zone}`
  const format = formats.get(name) ?? createFormat(i18n.language, zone)
  formats.set(name, format)
  return useMemo(() => ({ t, format }), [t, format])
}
