import { Alert, Button, SegmentedControl, Select, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core'
import { useForm, type GetInputPropsReturnType } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Settings } from '../../../../src/api/admin/catalog-contract.ts'
import type { CatalogWarningName } from '../../../../src/catalog/catalog-warning.ts'
import { SETTING_ROWS, type GivenSettings } from '../../../../src/tables/settings-table.ts'
import { currentLanguage } from '../../i18n.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { confirm } from '../../parts/confirm.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section } from '../../parts/Section.tsx'
import css from '../../style/layout.module.css'
import { CatalogWarnings, useCatalogWarnings } from './CatalogWarnings.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { ratesOf, ratesText } from './rates-text.ts'

const RENEWS = [
  'GET /admin/v1/settings',
  'GET /cabinet/v1/session',
  'GET /admin/v1/catalog/warnings',
  'GET /admin/v1/models',
] as const

/** Warnings that a change of the markup or of a rate removes. */
const OF_SETTINGS: ReadonlySet<CatalogWarningName> = new Set([
  'markup_below',
  'bundled_unrated',
  'bundled_waiting',
  'models_waiting',
])

/** Settings of the whole service. Every node applies a change within seconds. */
export function OperatorSettingsPage(): ReactNode {
  const { t } = useTranslation()
  const settings = useRead('GET /admin/v1/settings', {})
  const warnings = useCatalogWarnings().filter(({ warning }) => OF_SETTINGS.has(warning))
  return (
    <OperatorPage title={t('nav.service_settings')} lead={t('service.lead')}>
      <Loaded of={settings} height={560}>
        {(answer) => (
          <>
            <CatalogWarnings warnings={warnings} />
            <SettingsForm key={settings.dataUpdatedAt} settings={answer} />
            <Kek />
            <Maintenance maintenance={answer.maintenance} />
          </>
        )}
      </Loaded>
    </OperatorPage>
  )
}

function Maintenance({ maintenance }: { readonly maintenance: Settings['maintenance'] }): ReactNode {
  const { t } = useTranslation()
  const isOn = maintenance !== null
  const save = useAct('PATCH /admin/v1/settings', { renews: RENEWS, said: t('common.saved') })
  const form = useForm<{ message: string; retry: string }>({
    initialValues: { message: maintenance?.message ?? '', retry: String(maintenance?.retry_after ?? '') },
  })
  const turnOn = ({ message, retry }: typeof form.values): void =>
    confirm({
      name: 'maintenance',
      title: t('service.ask_maintenance'),
      text: t('service.ask_maintenance_text'),
      act: t('service.maintenance_on'),
      onConfirm: () =>
        save.mutate({
          body: {
            maintenance: {
              message: message.trim() === '' ? null : message.trim(),
              retry_after: retry === '' ? null : Number(retry),
            },
          },
        }),
    })
  return (
    <Section boxed title={t('service.maintenance')} lead={t('service.maintenance_lead')}>
      {isOn && (
        <Alert color="yellow" mb="md" role="status">
          {t('service.maintenance_is_on')}
        </Alert>
      )}
      <form onSubmit={form.onSubmit(turnOn)}>
        <div className={css.fields}>
          <TextInput label={t('service.message')} maxLength={300} {...form.getInputProps('message')} />
          <NumberField label={t('service.retry_after')} decimals={0} least={1} {...form.getInputProps('retry')} />
          {isOn ? (
            <Button onClick={() => save.mutate({ body: { maintenance: null } })} loading={save.isPending}>
              {t('service.maintenance_off')}
            </Button>
          ) : (
            <Button type="submit" color="red.8" loading={save.isPending}>
              {t('service.maintenance_on')}
            </Button>
          )}
        </div>
      </form>
    </Section>
  )
}

function SettingsForm({ settings }: { readonly settings: Settings }): ReactNode {
  const { t } = useTranslation()
  const save = useAct('PATCH /admin/v1/settings', { quiet: true, renews: RENEWS, said: t('common.saved') })
  const form = useForm({
    initialValues: {
      timezone: settings.timezone,
      markup: String(settings.markup),
      rates: ratesText(settings.rates),
      plain: plainValues(settings),
    },
    validate: { rates: (rates) => (ratesOf(rates) === null ? t('service.bad_rates') : null) },
  })
  const submit = ({ timezone, markup, rates, plain }: typeof form.values): void => {
    const parsedRates = ratesOf(rates)
    if (parsedRates !== null)
      save.mutate({ body: { timezone, markup: Number(markup), rates: parsedRates, ...givenOf(plain) } })
  }
  return (
    <form onSubmit={form.onSubmit(submit)}>
      <Section boxed title={t('service.rules')}>
        <Stack>
          {save.isError && <Failed failure={save.error} />}
          <div className={css.fields}>
            <NumberField
              label={t('service.markup')}
              description={t('service.markup_hint')}
              decimals={6}
              least={0}
              required
              {...form.getInputProps('markup')}
            />
            <Select
              label={t('service.timezone')}
              description={t('service.timezone_hint')}
              searchable
              allowDeselect={false}
              limit={80}
              data={[...new Set([settings.timezone, 'UTC', ...Intl.supportedValuesOf('timeZone')])]}
              {...form.getInputProps('timezone')}
            />
          </div>
          <Textarea
            label={t('service.rates')}
            description={t('service.rates_hint')}
            autosize
            minRows={2}
            {...form.getInputProps('rates')}
          />
          {PLAIN_ROWS.map(([name, row]) => (
            <PlainSetting
              key={name}
              row={row}
              propsOf={(path) =>
                form.getInputProps(`plain.${name}${path}`, row.kind === 'flag' ? { type: 'checkbox' } : {})
              }
            />
          ))}
          <div>
            <Button type="submit" loading={save.isPending}>
              {t('common.save')}
            </Button>
          </div>
        </Stack>
      </Section>
    </form>
  )
}

/** Numbers first, then choices, then switches. */
const PLAIN_ROWS = (['numbers', 'choice', 'flag'] as const).flatMap((kind) =>
  SETTING_ROWS.filter(([, row]) => row.kind === kind),
)

interface PlainSettingProps {
  readonly row: (typeof SETTING_ROWS)[number][1]
  /** The props of the setting itself, or of its `.field`. */
  readonly propsOf: (path: string) => GetInputPropsReturnType
}

/** A setting that needs nothing but its row of the table. */
function PlainSetting({ row, propsOf }: PlainSettingProps): ReactNode {
  const language = currentLanguage()
  if (row.kind === 'flag') return <Switch label={row.label[language]} {...propsOf('')} />
  if (row.kind === 'choice')
    return (
      <Choice
        label={row.label[language]}
        data={Object.entries(row.options).map(([value, label]) => ({ value, label: label[language] }))}
        props={propsOf('')}
      />
    )
  return (
    <div className={css.fields}>
      {Object.entries(row.fields).map(([field, { label, least }]) => (
        <NumberField
          key={field}
          label={label[language]}
          decimals={0}
          least={least}
          required
          {...propsOf(`.${field}`)}
        />
      ))}
    </div>
  )
}

function Choice({
  label,
  data,
  props,
}: {
  readonly label: string
  readonly data: { value: string; label: string }[]
  readonly props: object
}): ReactNode {
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        {label}
      </Text>
      <div className={css.scrolled}>
        <SegmentedControl data={data} aria-label={label} {...props} />
      </div>
    </div>
  )
}

function Kek(): ReactNode {
  const { t } = useTranslation()
  const rotate = useAct('POST /admin/v1/kek/rotate', {})
  return (
    <Section
      boxed
      title={t('service.kek')}
      lead={t('service.kek_lead')}
      actions={
        <Button variant="default" loading={rotate.isPending} onClick={() => rotate.mutate({})}>
          {t('service.rotate')}
        </Button>
      }
    >
      {rotate.data !== undefined && <Text role="status">{t('service.rotated', { count: rotate.data.rewrapped })}</Text>}
    </Section>
  )
}

/** The values of a form: numbers are texts there. */
type PlainValues = Readonly<Record<string, unknown>>

function plainValues(settings: Settings): PlainValues {
  return Object.fromEntries(
    SETTING_ROWS.map(([name, row]) => {
      const value = settings[name]
      return [name, row.kind === 'numbers' ? mapped(value, String) : value]
    }),
  )
}

function givenOf(values: PlainValues): GivenSettings {
  // Each field holds a value of its setting's kind.
  return Object.fromEntries(
    SETTING_ROWS.map(([name, row]) => [name, row.kind === 'numbers' ? mapped(values[name], Number) : values[name]]),
  ) as GivenSettings
}

function mapped<T>(fields: unknown, change: (value: unknown) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(Object(fields)).map(([name, value]) => [name, change(value)]))
}
