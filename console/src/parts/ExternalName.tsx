import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import css from '../style/layout.module.css'

/** The name that a program gave a record, as paths take it; nothing where it has none. */
export function ExternalName({ of }: { readonly of: { readonly external_id: string | null } }): ReactNode {
  const { t } = useTranslation()
  if (of.external_id === null) return null
  return (
    <div className={css.mono} title={t('field.external_id')}>
      external:{of.external_id}
    </div>
  )
}
