import {
  Alert,
  Button,
  FileInput,
  Input,
  SegmentedControl,
  Select,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'
import type { Settings } from '../../../../src/api/admin/catalog-contract.ts'
import type { CatalogWarningName } from '../../../../src/catalog/catalog-warning.ts'
import { type GivenSettings, SETTING_ROWS } from '../../../../src/tables/settings-table.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { confirm } from '../../parts/Dialog.tsx'
import { Form, useCall, useFields } from '../../parts/Form.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section } from '../../parts/Page.tsx'
import { numberOf } from '../../parts/number-text.ts'
import { t } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'
import { CatalogWarnings, useCatalogWarnings } from './catalog-edit.tsx'

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
export function OperatorSettingsPage() {
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

function Maintenance({ maintenance }: { readonly maintenance: Settings['maintenance'] }) {
  const isOn = maintenance !== null
  const save = useAct('PATCH /admin/v1/settings', { quiet: true, renews: RENEWS, said: t('common.saved') })
  const turnOn = (message: string, retry: string): void =>
    confirm({
      name: 'maintenance',
      title: t('service.ask_maintenance'),
      text: t('service.ask_maintenance_text'),
      act: t('service.maintenance_on'),
      onConfirm: () =>
        save.mutate({
          body: { maintenance: { message: message === '' ? null : message, retry_after: numberOf(retry) } },
        }),
    })
  const form = useFields({
    first: { message: maintenance?.message ?? '', retry: String(maintenance?.retry_after ?? '') },
    calls: [save],
    send: ({ message, retry }) => (isOn ? save.mutate({ body: { maintenance: null } }) : turnOn(message.trim(), retry)),
  })
  return (
    <Section boxed title={t('service.maintenance')} lead={t('service.maintenance_lead')}>
      {isOn && (
        <Alert color="yellow" mb="md" role="status">
          {t('service.maintenance_is_on')}
        </Alert>
      )}
      <Form
        of={form}
        form="row"
        act={t(isOn ? 'service.maintenance_off' : 'service.maintenance_on')}
        look={isOn ? {} : { color: 'red.8' }}
      >
        <TextInput label={t('service.message')} maxLength={300} {...form.field('message')} />
        <NumberField label={t('service.retry_after')} decimals={0} least={1} {...form.field('retry')} />
      </Form>
    </Section>
  )
}

function SettingsForm({ settings }: { readonly settings: Settings }) {
  const form = useCall('PATCH /admin/v1/settings', {
    renews: RENEWS,
    said: t('common.saved'),
    first: {
      timezone: settings.timezone,
      markup: String(settings.markup),
      rates: ratesText(settings.rates),
      plain: plainValues(settings),
    },
    check: { rates: (rates: string) => (ratesOf(rates) === null ? t('service.bad_rates') : null) },
    input: ({ timezone, markup, rates, plain }) => ({
      body: { timezone, markup: Number(markup), rates: ratesOf(rates) ?? {}, ...givenOf(plain) },
    }),
  })
  return (
    <Section boxed title={t('service.rules')}>
      <Form of={form} act={t('common.save')}>
        <div className="fields">
          <NumberField
            label={t('service.markup')}
            description={t('service.markup_hint')}
            decimals={6}
            least={0}
            required
            {...form.field('markup')}
          />
          <Select
            label={t('service.timezone')}
            description={t('service.timezone_hint')}
            searchable
            limit={80}
            data={[...new Set([settings.timezone, 'UTC', ...Intl.supportedValuesOf('timeZone')])]}
            {...form.field('timezone')}
          />
        </div>
        <Textarea
          label={t('service.rates')}
          description={t('service.rates_hint')}
          autosize
          minRows={2}
          {...form.field('rates')}
        />
        {PLAIN_ROWS.map(([name, row]) => (
          <PlainSetting
            key={name}
            row={row}
            propsOf={(path) => form.field(`plain.${name}${path}`, row.kind === 'flag' ? 'checkbox' : undefined)}
          />
        ))}
      </Form>
    </Section>
  )
}

/** Numbers first, then choices, switches and texts. */
const PLAIN_ROWS = (['numbers', 'choice', 'flag', 'texts'] as const).flatMap((kind) =>
  SETTING_ROWS.filter(([, row]) => row.kind === kind),
)

interface PlainSettingProps {
  readonly row: (typeof SETTING_ROWS)[number][1]
  /** Returns the props of the setting itself, or of its `.field`. */
  readonly propsOf: (path: string) => GetInputPropsReturnType
}

/** A setting that needs nothing but its row in the table. */
function PlainSetting({ row, propsOf }: PlainSettingProps) {
  const language = currentLanguage()
  if (row.kind === 'flag') return <Switch label={row.label[language]} {...propsOf('')} />
  if (row.kind === 'choice')
    return (
      <Input.Wrapper label={row.label[language]}>
        <div className="scrolled">
          <SegmentedControl
            data={Object.entries(row.options).map(([value, label]) => ({ value, label: label[language] }))}
            aria-label={row.label[language]}
            {...propsOf('')}
          />
        </div>
      </Input.Wrapper>
    )
  if (row.kind === 'texts')
    return (
      <div className="fields">
        {Object.entries(row.fields).map(([field, { label, form, most }]) =>
          form === 'picture' ? (
            <PictureField key={field} label={label[language]} {...propsOf(`.${field}`)} />
          ) : (
            <TextInput key={field} label={label[language]} maxLength={most} {...propsOf(`.${field}`)} />
          ),
        )}
      </div>
    )
  return (
    <div className="fields">
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

/** Stands in a field for the picture that is set already. */
const STORED = new File([], '✓')

/** A picture as a data URL. */
function PictureField({ label, value, onChange, error }: GetInputPropsReturnType & { readonly label: string }) {
  const read = (file: File | null): void => {
    if (file === null) return onChange('')
    const reader = new FileReader()
    reader.addEventListener('load', () => onChange(reader.result))
    reader.readAsDataURL(file)
  }
  return (
    <FileInput
      label={label}
      error={error}
      accept="image/svg+xml,image/png,image/jpeg,image/webp"
      clearable
      value={value === '' ? null : STORED}
      leftSection={value === '' ? null : <img src={value} alt="" height="20" />}
      placeholder={t('service.picture')}
      onChange={read}
    />
  )
}

function Kek() {
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

/** The values in a form, where numbers are texts. */
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

/** Rates as lines `USD: 92.50`, or `source: cbr`. */
function ratesText(rates: Readonly<Record<string, number | string>>): string {
  return Object.entries(rates)
    .map(([name, rate]) => `${name}: ${rate}`)
    .join('\n')
}

/** null = a line is not a rate. */
function ratesOf(text: string): Readonly<Record<string, number | string>> | null {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const pairs = lines.map((line) => /^(source|[A-Z]{3}):\s*([a-z]+|\d+(?:\.\d+)?)$/.exec(line))
  if (pairs.some((pair) => pair === null)) return null
  return Object.fromEntries(
    pairs.map((pair) => [pair?.[1] ?? '', pair?.[1] === 'source' ? (pair[2] ?? '') : Number(pair?.[2])]),
  )
}
