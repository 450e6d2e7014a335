import { Alert, Button, SegmentedControl, Select, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Settings } from '../../../../src/admin/contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { confirm } from '../../parts/confirm.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section } from '../../parts/Section.tsx'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'
import { ratesOf, ratesText } from './rates-text.ts'

const RENEWS = ['GET /admin/v1/settings', 'GET /cabinet/v1/session', 'GET /admin/v1/models'] as const

/** What holds for the whole service, live on every node within seconds. */
export function OperatorSettingsPage(): ReactNode {
  const { t } = useTranslation()
  const settings = useRead('GET /admin/v1/settings', {})
  return (
    <OperatorPage title={t('nav.service_settings')} lead={t('service.lead')}>
      <Loaded of={settings} height={560}>
        {(answer) => (
          <>
            <Maintenance maintenance={answer.maintenance} />
            <SettingsForm key={settings.dataUpdatedAt} settings={answer} />
            <Kek />
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
    <Section title={t('service.maintenance')} lead={t('service.maintenance_lead')}>
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
    initialValues: { ...settings, ...texts(settings), rates: ratesText(settings.rates) },
    validate: { rates: (rates) => (ratesOf(rates) === null ? t('service.bad_rates') : null) },
  })
  const submit = ({
    maintenance: _maintenance,
    rates,
    markup,
    rate_limit,
    ip_block,
    stream_resume,
    ...rest
  }: typeof form.values): void => {
    const parsedRates = ratesOf(rates)
    if (parsedRates !== null)
      save.mutate({
        body: {
          ...rest,
          markup: Number(markup),
          rate_limit: numbers(rate_limit),
          ip_block: numbers(ip_block),
          stream_resume: numbers(stream_resume),
          rates: parsedRates,
        },
      })
  }
  const number = (path: string, label: string): ReactNode => (
    <NumberField label={label} decimals={0} least={0} required {...form.getInputProps(path)} />
  )
  return (
    <form onSubmit={form.onSubmit(submit)}>
      <Section title={t('service.rules')}>
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
          <div className={css.fields}>
            {number('rate_limit.requests', t('service.rate_requests'))}
            {number('rate_limit.window', t('service.rate_window'))}
          </div>
          <div className={css.fields}>
            {number('ip_block.failures', t('service.block_failures'))}
            {number('ip_block.window', t('service.block_window'))}
            {number('ip_block.duration', t('service.block_duration'))}
          </div>
          <div className={css.fields}>
            {number('stream_resume.grace', t('service.grace'))}
            {number('stream_resume.retention', t('service.retention'))}
          </div>
          <Choice
            label={t('service.midstream')}
            data={(['free', 'delivered'] as const).map((value) => ({ value, label: t(`service.midstream_${value}`) }))}
            props={form.getInputProps('midstream_error')}
          />
          <Choice
            label={t('service.signup')}
            data={(['open', 'closed'] as const).map((value) => ({ value, label: t(`service.signup_${value}`) }))}
            props={form.getInputProps('signup')}
          />
          <Switch label={t('service.fetch_urls')} {...form.getInputProps('fetch_urls', { type: 'checkbox' })} />
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
      <SegmentedControl data={data} aria-label={label} {...props} />
    </div>
  )
}

function Kek(): ReactNode {
  const { t } = useTranslation()
  const rotate = useAct('POST /admin/v1/kek/rotate', {})
  return (
    <Section
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

type Texts<T> = { readonly [Name in keyof T]: string }

/** The numbers of the settings as fields have them. */
function texts({ markup, rate_limit: rateLimit, ip_block: ipBlock, stream_resume: streamResume }: Settings): {
  markup: string
  rate_limit: Texts<Settings['rate_limit']>
  ip_block: Texts<Settings['ip_block']>
  stream_resume: Texts<Settings['stream_resume']>
} {
  return {
    markup: String(markup),
    rate_limit: asTexts(rateLimit),
    ip_block: asTexts(ipBlock),
    stream_resume: asTexts(streamResume),
  }
}

function asTexts<T extends object>(fields: T): Texts<T> {
  // The same names, each with its number as text.
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)])) as Texts<T>
}

function numbers<T extends Readonly<Record<string, string>>>(fields: T): { [Name in keyof T]: number } {
  // The same names, each with its text as the number that it is.
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, Number(value)])) as {
    [Name in keyof T]: number
  }
}
