import { Button, Select, Stack, TextInput, useMantineColorScheme } from '@mantine/core'
import { useForm, type UseFormReturnType } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Language, SessionState, Theme } from '../../../../src/api/cabinet/session-contract.ts'
import { queryKey, useAct, useRead } from '../../api/hooks.ts'
import { currentLanguage, speak } from '../../i18n.ts'
import { ChoiceField } from '../../parts/ChoiceField.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { useMay } from '../../parts/may.ts'
import { Page } from '../../parts/Page.tsx'
import { Section } from '../../parts/Section.tsx'
import { tellFailure } from '../../parts/tell-failure.tsx'
import { useFormat } from '../../parts/use-format.ts'
import { useProfile } from '../../session.tsx'
import css from '../../style/layout.module.css'

/** The time zone of a user who has chosen none. */
const BROWSER = 'browser'

interface Values {
  readonly name: string
  readonly model: string | null
  readonly zone: string
  readonly language: Language
  readonly theme: Theme
}

/** The user's name, default model, time zone, language and theme. */
export function SettingsPage(): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const profile = useProfile()
  return (
    <Page title={t('nav.settings')} lead={t('settings.lead')}>
      <div className={css.halves}>
        <Section boxed title={t('settings.profile')}>
          <ProfileForm />
        </Section>
        <Section title={t('settings.account')}>
          <Facts
            items={[
              [t('entry.email'), profile.email],
              [
                t('settings.account_id'),
                <span key="id" className={css.mono}>
                  {profile.account_id}
                </span>,
              ],
              [t('settings.role'), t(`settings.role_${profile.role}`)],
              [t('settings.since'), format.date(profile.created_at)],
            ]}
          />
        </Section>
      </div>
    </Page>
  )
}

function ProfileForm(): ReactNode {
  const { t } = useTranslation()
  const profile = useProfile()
  const may = useMay()
  const client = useQueryClient()
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const save = useAct('PATCH /cabinet/v1/profile', {
    said: t('common.saved'),
    done: (answer) =>
      client.setQueryData<SessionState>(queryKey('GET /cabinet/v1/session'), (state) =>
        state === undefined ? state : { ...state, profile: answer },
      ),
  })
  const form = useForm<Values>({
    initialValues: {
      name: profile.name,
      model: profile.default_model,
      zone: profile.timezone ?? BROWSER,
      language: profile.language ?? currentLanguage(),
      theme: profile.theme,
    },
  })
  return (
    <form
      onSubmit={form.onSubmit(({ name, model, zone, language, theme }) => {
        speak(language).catch(tellFailure)
        setColorScheme(theme)
        save.mutate({
          body: {
            name: name.trim(),
            ...(may('account:write') ? { default_model: model } : {}),
            timezone: zone === BROWSER ? null : zone,
            language,
            theme,
          },
        })
      })}
    >
      <Stack>
        <TextInput label={t('entry.name')} autoComplete="name" maxLength={100} {...form.getInputProps('name')} />
        {may('account:write') && <ModelField form={form} />}
        <ZoneField form={form} />
        <Select
          label={t('settings.language')}
          allowDeselect={false}
          data={[
            { value: 'en', label: 'English' },
            { value: 'ru', label: 'Русский' },
          ]}
          {...form.getInputProps('language')}
        />
        <Select
          label={t('shell.theme')}
          allowDeselect={false}
          data={(['light', 'dark', 'auto'] as const).map((value) => ({ value, label: t(`theme.${value}`) }))}
          {...form.getInputProps('theme')}
        />
        <div>
          <Button type="submit" loading={save.isPending}>
            {t('common.save')}
          </Button>
        </div>
      </Stack>
    </form>
  )
}

interface FieldProps {
  readonly form: UseFormReturnType<Values>
}

/** The chat models, with the chosen one even where the account may no longer use it. */
function ModelField({ form }: FieldProps): ReactNode {
  const { t } = useTranslation()
  const { default_model: chosen } = useProfile()
  const models = useRead('GET /cabinet/v1/models', {})
  const chat = (models.data?.data ?? []).filter(({ type }) => type === 'chat').map(({ id }) => id)
  return (
    <ChoiceField
      placeholder=""
      label={t('settings.model')}
      description={t('settings.model_hint')}
      searchable
      limit={60}
      data={chosen === null || chat.includes(chosen) ? chat : [chosen, ...chat]}
      {...form.getInputProps('model')}
    />
  )
}

function ZoneField({ form }: FieldProps): ReactNode {
  const { t } = useTranslation()
  const zones = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])
  return (
    <Select
      label={t('settings.zone')}
      searchable
      allowDeselect={false}
      limit={80}
      data={[
        { value: BROWSER, label: t('settings.zone_browser') },
        ...[...zones].map((zone) => ({ value: zone, label: zone })),
      ]}
      {...form.getInputProps('zone')}
    />
  )
}
