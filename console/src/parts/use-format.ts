import { useTranslation } from 'react-i18next'
import { useSession } from '../session.tsx'
import { browserZone, createFormat, type Format } from './format.ts'

/** By language and time zone. A list has a reader of it in each row, and making it takes longer than drawing the row. */
const formats = new Map<string, Format>()

export function useFormat(): Format {
  const { i18n } = useTranslation()
  const { profile } = useSession()
  const zone = profile?.timezone ?? browserZone()
  const name = `${i18n.language} ${zone}`
  const format = formats.get(name) ?? createFormat(i18n.language, zone)
  formats.set(name, format)
  return format
}
