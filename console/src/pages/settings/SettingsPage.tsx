import { Select, TextInput, useMantineColorScheme } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import type { Language, Theme } from '../../../../src/api/cabinet/session-contract.ts'
import { setProfile, useAct, useRead } from '../../api/hooks.ts'
import { currentLanguage, speak } from '../../i18n.ts'
import { ChoiceField } from '../../parts/Filters.tsx'
import { Form, useFields } from '../../parts/Form.tsx'
import { tellFailure } from '../../parts/Loaded.tsx'
import { Facts, Page, Section } from '../../parts/Page.tsx'
import { format, t } from '../../parts/words.ts'
import { useMay, useProfile } from '../../session.tsx'

/** The choice of a user without a time zone setting. */
const BROWSER = 'browser'

interface Values {
  readonly name: string
  readonly model: string | null
  readonly zone: string
  readonly language: Language
  readonly theme: Theme
}

/** The user's name, default model, time zone, language and theme. */
export function SettingsPage() {
  const profile = useProfile()
  const id = <span className="mono">{profile.account_id}</span>
  return (
    <Page title={t('nav.settings')} lead={t('settings.lead')}>
      <div className="halves">
        <Section boxed title={t('settings.profile')}>
          <ProfileForm />
        </Section>
        <Section title={t('settings.account')}>
          <Facts
            items={[
              [t('entry.email'), profile.email],
              [t('settings.account_id'), id],
              [
                t('settings.role'),
                profile.operator_role === null ? t('settings.role_user') : t(`role.${profile.operator_role}`),
              ],
              [t('settings.since'), format.date(profile.created_at)],
            ]}
          />
        </Section>
      </div>
    </Page>
  )
}

function ProfileForm() {
  const profile = useProfile()
  const mayModel = useMay()('account:write')
  const client = useQueryClient()
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const save = useAct('PATCH /cabinet/v1/profile', {
    quiet: true,
    said: t('common.saved'),
    done: (answer) => setProfile(client, answer),
  })
  const form = useFields<Values>({
    first: {
      name: profile.name,
      model: profile.default_model,
      zone: profile.timezone ?? BROWSER,
      language: profile.language ?? currentLanguage(),
      theme: profile.theme,
    },
    calls: [save],
    send: ({ name, model, zone, language, theme }) => {
      speak(language).catch(tellFailure)
      setColorScheme(theme)
      save.mutate({
        body: {
          name: name.trim(),
          ...(mayModel ? { default_model: model } : {}),
          timezone: zone === BROWSER ? null : zone,
          language,
          theme,
        },
      })
    },
  })
  return (
    <Form of={form} act={t('common.save')}>
      <TextInput label={t('entry.name')} autoComplete="name" {...form.field('name')} />
      {mayModel && <ModelField {...form.field('model')} />}
      <Select
        label={t('settings.zone')}
        searchable
        limit={80}
        data={[
          { value: BROWSER, label: t('settings.zone_browser') },
          ...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')]),
        ]}
        {...form.field('zone')}
      />
      <Select
        label={t('settings.language')}
        data={[
          { value: 'en', label: 'English' },
          { value: 'ru', label: 'Русский' },
        ]}
        {...form.field('language')}
      />
      <Select
        label={t('shell.theme')}
        data={(['light', 'dark', 'auto'] as const).map((value) => ({ value, label: t(`theme.${value}`) }))}
        {...form.field('theme')}
      />
    </Form>
  )
}

/** The chat models, and the chosen one even if the account may no longer use it. */
function ModelField(props: object) {
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
      {...props}
    />
  )
}
