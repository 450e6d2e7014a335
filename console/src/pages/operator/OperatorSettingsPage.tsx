import { Alert, Button, FileInput, Input, SegmentedControl, Select, Switch, Text, TextInput } from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'
import type { Settings } from '../../../../src/api/admin/catalog-contract.ts'
import type { CatalogWarningName } from '../../../../src/catalog/catalog-warning.ts'
import {
  type GivenSettings,
  SETTING_GROUPS,
  SETTING_ROWS,
  SETTING_UNITS,
} from '../../../../src/tables/settings-table.ts'
import { given } from '../../api/endpoint.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { DurationField } from '../../parts/DurationField.tsx'
import { confirm } from '../../parts/Dialog.tsx'
import { Form, useCall, useFields } from '../../parts/Form.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section } from '../../parts/Page.tsx'
import { numberOf } from '../../parts/number-text.ts'
import { t } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'
import { CatalogWarnings, useCatalogWarnings } from './catalog-edit.tsx'
import { givenRates, ratesDraft, RatesFields, SETTINGS_RENEWS } from './Rates.tsx'

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
            <Groups settings={answer} />
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
  const save = useAct('PATCH /admin/v1/settings', { quiet: true, renews: SETTINGS_RENEWS, said: t('common.saved') })
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
        <TextInput label={t('service.message')} {...form.field('message')} />
        <DurationField base="seconds" label={t('service.retry_after')} least={1} {...form.field('retry')} />
      </Form>
    </Section>
  )
}

/** Each group is saved by itself. One that was changed on the server begins anew; what is typed in the others stays. */
function Groups({ settings }: { readonly settings: Settings }) {
  const { markup, rates, timezone } = settings
  return (
    <>
      <Money key={JSON.stringify([markup, rates])} settings={settings} />
      <TimeZone key={timezone} zone={timezone} />
      {Object.entries(SETTING_GROUPS).map(([group, label]) => {
        const rows = SETTING_ROWS.filter(([, row]) => row.group === group)
        const values = plainValues(settings, rows)
        return <PlainGroup key={JSON.stringify(values)} title={label[currentLanguage()]} rows={rows} values={values} />
      })}
    </>
  )
}

/** From a provider's price to the price of customers. */
function Money({ settings }: { readonly settings: Settings }) {
  const form = useCall('PATCH /admin/v1/settings', {
    renews: SETTINGS_RENEWS,
    said: t('common.saved'),
    first: { markup: String(settings.markup), rates: ratesDraft(settings.rates) },
    input: ({ markup, rates }) => ({ body: { markup: Number(markup), rates: givenRates(rates) } }),
  })
  return (
    <Section boxed title={t('service.money')} lead={t('service.money_lead')}>
      <Form of={form} act={t('common.save')}>
        <NumberField
          label={t('service.markup')}
          description={t('service.markup_hint')}
          decimals={6}
          least={0}
          required
          maw={320}
          {...form.field('markup')}
        />
        <RatesFields value={form.values.rates} onChange={(rates) => form.set({ rates })} />
      </Form>
    </Section>
  )
}

function TimeZone({ zone }: { readonly zone: string }) {
  const form = useCall('PATCH /admin/v1/settings', {
    renews: SETTINGS_RENEWS,
    said: t('common.saved'),
    first: { timezone: zone },
    input: (body) => ({ body }),
  })
  return (
    <Section boxed title={t('service.timezone')} lead={t('service.timezone_hint')}>
      <Form of={form} act={t('common.save')}>
        <Select
          aria-label={t('service.timezone')}
          searchable
          limit={80}
          maw={320}
          data={[...new Set([zone, 'UTC', ...Intl.supportedValuesOf('timeZone')])]}
          {...form.field('timezone')}
        />
      </Form>
    </Section>
  )
}

type Rows = readonly (typeof SETTING_ROWS)[number][]

interface PlainGroupProps {
  readonly title: string
  readonly rows: Rows
  readonly values: PlainValues
}

function PlainGroup({ title, rows, values }: PlainGroupProps) {
  const form = useCall('PATCH /admin/v1/settings', {
    renews: SETTINGS_RENEWS,
    said: t('common.saved'),
    first: { plain: values },
    input: ({ plain }) => ({ body: givenOf(plain, rows) }),
  })
  return (
    <Section boxed title={title}>
      <Form of={form} act={t('common.save')}>
        {rows.map(([name, row]) => (
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

interface PlainSettingProps {
  readonly row: Rows[number][1]
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
        {Object.entries(row.fields).map(([field, { label, form }]) =>
          form === 'picture' ? (
            <PictureField key={field} label={label[language]} {...propsOf(`.${field}`)} />
          ) : (
            <TextInput key={field} label={label[language]} {...propsOf(`.${field}`)} />
          ),
        )}
      </div>
    )
  return (
    <div className="fields">
      {Object.entries(row.fields).map(([field, { label, least, most, unit }]) => {
        const shared = { label: label[language], least, most, required: true, ...propsOf(`.${field}`) }
        return unit === 'seconds' || unit === 'hours' || unit === 'days' ? (
          <DurationField key={field} base={unit} {...shared} />
        ) : (
          <NumberField
            key={field}
            decimals={0}
            {...given({ unit: unit && SETTING_UNITS[unit][language] })}
            {...shared}
          />
        )
      })}
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

function plainValues(settings: Settings, rows: Rows): PlainValues {
  return Object.fromEntries(
    rows.map(([name, row]) => {
      const value = settings[name]
      return [name, row.kind === 'numbers' ? mapped(value, String) : value]
    }),
  )
}

function givenOf(values: PlainValues, rows: Rows): GivenSettings {
  // Each field holds a value of its setting's kind.
  return Object.fromEntries(
    rows.map(([name, row]) => [name, row.kind === 'numbers' ? mapped(values[name], Number) : values[name]]),
  ) as GivenSettings
}

function mapped<T>(fields: unknown, change: (value: unknown) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(Object(fields)).map(([name, value]) => [name, change(value)]))
}
