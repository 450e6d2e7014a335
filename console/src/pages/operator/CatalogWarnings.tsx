import { Alert } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { CatalogWarning } from '../../../../src/catalog/catalog-warning.ts'
import { useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { paramTexts } from '../../parts/failure-text.ts'
import css from '../../style/layout.module.css'

const SHOWN_MAX = 8

/** Entries of the catalogue that may be mistakes: sold at a loss, or not at all. */
export function CatalogWarnings({ warnings }: { readonly warnings: readonly CatalogWarning[] }): ReactNode {
  const { t } = useTranslation()
  if (warnings.length === 0) return null
  const more = warnings.length - SHOWN_MAX
  return (
    <Alert color="yellow" role="status" title={t('catalog.warnings')}>
      <ul className={css.bullets}>
        {warnings.slice(0, SHOWN_MAX).map((warning) => (
          <li key={`${warning.warning} ${warning.message}`}>
            <WarningText warning={warning} />
          </li>
        ))}
      </ul>
      {more > 0 && t('failure.problems_more', { count: more })}
    </Alert>
  )
}

function WarningText({ warning: { warning, params } }: { readonly warning: CatalogWarning }): ReactNode {
  const { t } = useTranslation()
  return t(`catalog_warning.${warning}`, {
    replace: { ...paramTexts(params), ...('key' in params ? { key: t(`price.${params.key}`) } : {}) },
  })
}

/**
 * The warnings of the current catalogue. There are none while they cannot be loaded: the page is useful without them.
 */
export function useCatalogWarnings(): readonly CatalogWarning[] {
  const enabled = useCan()('GET /admin/v1/catalog/warnings')
  return useRead('GET /admin/v1/catalog/warnings', {}, { enabled }).data?.data ?? []
}
