import { Button, useMantineColorScheme, type MantineColorScheme } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Language, SessionState } from '../../../src/api/cabinet/session-contract.ts'
import { queryKey, useAct } from '../api/hooks.ts'
import { currentLanguage, speak } from '../i18n.ts'
import { AutoIcon, DarkIcon, LightIcon } from '../parts/icons.ts'
import { tellFailure } from '../parts/tell-failure.tsx'
import { useSession } from '../session.tsx'
import { MenuButton } from './MenuButton.tsx'
import css from './shell.module.css'

const SESSION_KEY = queryKey('GET /cabinet/v1/session')

/** The choice of language and theme. It is saved with the user, and before sign-in in this browser. */
export function Preferences(): ReactNode {
  return (
    <>
      <LanguageSwitch />
      <ThemeSwitch />
    </>
  )
}

function useSaveWish(): (wish: { readonly language?: Language; readonly theme?: MantineColorScheme }) => void {
  const { profile } = useSession()
  const client = useQueryClient()
  const save = useAct('PATCH /cabinet/v1/profile', {
    done: (answer) =>
      client.setQueryData<SessionState>(SESSION_KEY, (state) =>
        state === undefined ? state : { ...state, profile: answer },
      ),
  })
  return (wish) => {
    if (profile !== null) save.mutate({ body: wish })
  }
}

function LanguageSwitch(): ReactNode {
  const { t } = useTranslation()
  const save = useSaveWish()
  const other: Language = currentLanguage() === 'ru' ? 'en' : 'ru'
  const change = (): void => {
    speak(other).catch((failure: unknown) => tellFailure(failure, { retry: change }))
    save({ language: other })
  }
  return (
    <Button
      variant="subtle"
      color="gray"
      size="compact-sm"
      onClick={change}
      lang={other}
      aria-label={t('shell.switch_language')}
    >
      {other === 'ru' ? 'Русский' : 'English'}
    </Button>
  )
}

function ThemeSwitch(): ReactNode {
  const { t } = useTranslation()
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const save = useSaveWish()
  const icons = { light: <LightIcon size={19} />, dark: <DarkIcon size={19} />, auto: <AutoIcon size={19} /> }
  const change = (theme: MantineColorScheme): void => {
    setColorScheme(theme)
    save({ theme })
  }
  return (
    <MenuButton
      className={css.iconButton}
      label={t('shell.theme')}
      face={icons[colorScheme]}
      entries={(['light', 'dark', 'auto'] as const).map((theme) => ({
        label: t(`theme.${theme}`),
        icon: icons[theme],
        act: () => change(theme),
      }))}
    />
  )
}
