import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { useSession } from '../session.tsx'
import { browserZone, createFormat, type Format } from './format.ts'

export function useFormat(): Format {
  const { i18n } = useTranslation()
  const { profile } = useSession()
  const zone = profile?.timezone ?? browserZone()
  return useMemo(() => createFormat(i18n.language, zone), [i18n.language, zone])
}
