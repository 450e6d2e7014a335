import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Empty } from '../parts/Loaded.tsx'
import { Page } from '../parts/Page.tsx'

export function NotFound(): ReactNode {
  const { t } = useTranslation()
  return (
    <Page title={t('shell.not_found')}>
      <Empty
        picture="lost"
        title={t('shell.not_found_text')}
        action={
          <Button component={Link} to="/" mt="sm">
            {t('nav.home')}
          </Button>
        }
      />
    </Page>
  )
}
