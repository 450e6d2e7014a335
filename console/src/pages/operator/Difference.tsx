import { Alert, Button, Group } from '@mantine/core'
import clsx from 'clsx'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { CatalogChange } from '../../../../src/api/admin/catalog-contract.ts'
import type { CatalogWarning } from '../../../../src/catalog/catalog-warning.ts'
import css from '../../style/layout.module.css'
import { CatalogWarnings } from './CatalogWarnings.tsx'

export interface DifferenceProps {
  readonly change: CatalogChange
  readonly apply: () => void
  readonly busy: boolean
  /** Picks the warnings that concern this change; the answer has the warnings of the whole document. */
  readonly concerns: (warning: CatalogWarning) => boolean
}

/** The changes, a line each, then the warnings and the button that applies the changes. */
export function Difference({ change, apply, busy, concerns }: DifferenceProps): ReactNode {
  const { t } = useTranslation()
  if (change.changes.length === 0)
    return (
      <Alert color="gray" role="status">
        {t('catalog.same')}
      </Alert>
    )
  return (
    <>
      <div
        className={clsx(css.code, css.difference)}
        tabIndex={0}
        role="region"
        lang="en"
        aria-label={t('catalog.difference')}
      >
        {change.changes.map((line) => (
          <div
            key={line}
            className={clsx(
              line.startsWith('+') && css.added,
              line.startsWith('-') && css.removed,
              line.startsWith('~') && css.changed,
            )}
          >
            {line}
          </div>
        ))}
      </div>
      <CatalogWarnings warnings={change.warnings?.filter(concerns) ?? []} />
      <Group justify="flex-end" mt="md">
        <Button loading={busy} onClick={apply}>
          {t('catalog.apply', { count: change.changes.length })}
        </Button>
      </Group>
    </>
  )
}
