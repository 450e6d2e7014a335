import { Button } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import css from '../style/layout.module.css'

/** Filters side by side; on a phone behind a button, so that the list comes first. */
export function FilterPanel({
  children,
  compact = false,
}: {
  readonly children: ReactNode
  /** Small fields in one line, each with its name inside. */
  readonly compact?: boolean
}): ReactNode {
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
      {(!isNarrow || opened) && <div className={compact ? css.filters : css.fields}>{children}</div>}
    </>
  )
}
