import { Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Brand } from './Brand.tsx'
import { Preferences } from './Preferences.tsx'
import css from './shell.module.css'

/** The frame of the pages before sign-in. */
export function EntryFrame({ children }: { readonly children: ReactNode }): ReactNode {
  const { t } = useTranslation()
  return (
    <div className={css.entry}>
      <header className={css.entryHead}>
        <Brand />
        <Group gap={4}>
          <Preferences />
        </Group>
      </header>
      <main className={css.entryMain} id="content">
        <section className={css.pitch} aria-label="Tollgate">
          <p className={css.slogan}>{t('entry.slogan')}</p>
          <ul>
            <li>{t('entry.point_one')}</li>
            <li>{t('entry.point_two')}</li>
            <li>{t('entry.point_three')}</li>
          </ul>
        </section>
        <div className={css.entryCard}>{children}</div>
      </main>
      <Text component="footer" size="xs" c="dimmed" ta="center" p="md">
        Tollgate
      </Text>
    </div>
  )
}
