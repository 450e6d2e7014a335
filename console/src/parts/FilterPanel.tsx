import { Button } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import css from '../style/layout.module.css'

/** Filters side by side; on a phone behind a button, so that the list comes first. */
export function FilterPanel({ children }: { readonly children: ReactNode }): ReactNode {
  const { t } = useTranslation()
  const isNarrow = useMediaQuery('(max-width: 700px)') === true
  const [opened, setOpened] = useState(false)
  return (
    <>
      {isNarrow && (
        <div>
          <Button size="xs" variant="default" aria-expanded={opened} onClick={() => setOpened(!opened)}>
            {t('common.filters')}
          </Button>
        </div>
      )}
      {(!isNarrow || opened) && <div className={css.fields}>{children}</div>}
    </>
  )
}
