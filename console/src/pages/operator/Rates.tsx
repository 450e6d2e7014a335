import { Alert, Group, Select, Stack, Switch, Text } from '@mantine/core'
import { useState } from 'react'
import type { Settings } from '../../../../src/api/admin/catalog-contract.ts'
import { ownValue } from '../../../../src/base/own-value.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Press, Said } from '../../parts/cells.tsx'
import { WarningIcon } from '../../parts/icons.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { format, t } from '../../parts/words.ts'
import { CATALOG_RENEWS } from './catalog-edit.tsx'

/** Reads that a change of the settings makes out of date. */
export const SETTINGS_RENEWS = [
  'GET /admin/v1/settings',
  'GET /admin/v1/warnings',
  'GET /cabinet/v1/session',
  ...CATALOG_RENEWS,
] as const

const DECIMALS = 12
const ASKS_MS = 2_000
const SHOWN_MAX = 8

export interface RatesDraft {
  /** The rates of the Central Bank are taken. */
  readonly fetched: boolean
  /** Decimals by currency; an empty one is not given. */
  readonly own: Readonly<Record<string, string>>
}

export function ratesDraft(rates: Settings['rates']): RatesDraft {
  const own = Object.entries(rates).filter(([currency]) => currency !== 'source')
  return {
    fetched: rates['source'] !== undefined,
    own: Object.fromEntries(own.map(([name, rate]) => [name, `${rate}`])),
  }
}

/** Fetched rates are not sent back: they would be rates of a person from then on. */
export function givenRates({ fetched, own }: RatesDraft): Readonly<Record<string, number | 'cbr'>> {
  if (fetched) return { source: 'cbr' }
  const typed = Object.entries(own).filter(([, rate]) => rate !== '')
  return Object.fromEntries(typed.map(([currency, rate]) => [currency, Number(rate)]))
}

interface RatesFieldsProps {
  readonly value: RatesDraft
  readonly onChange: (value: RatesDraft) => void
}

/** The rates of the Central Bank by one switch, or a field for each currency. */
export function RatesFields({ value: { fetched, own }, onChange }: RatesFieldsProps) {
  const known = Object.entries(own).filter(([, rate]) => rate !== '')
  return (
    <Stack gap="xs">
      <Switch
        label={t('rates.fetched')}
        description={t('rates.fetched_hint')}
        checked={fetched}
        onChange={({ currentTarget }) => onChange({ fetched: currentTarget.checked, own })}
      />
      {fetched ? (
        known.length > 0 && (
          <Text size="sm" c="dimmed">
            {known
              .toSorted(([one], [other]) => rankOf(one) - rankOf(other))
              .slice(0, SHOWN_MAX)
              .map(([currency, rate]) => `${currency} ${format.price(rate)}`)
              .join(' · ')}
            {known.length > SHOWN_MAX && ` · ${t('rates.more', { count: known.length - SHOWN_MAX })}`}
          </Text>
        )
      ) : (
        <div className="fields">
          {Object.entries(own).map(([currency, rate]) => (
            <NumberField
              key={currency}
              label={t('rates.one', { currency })}
              unit="₽"
              decimals={DECIMALS}
              least={0.000_001}
              value={rate}
              onChange={(typed) => onChange({ fetched, own: { ...own, [currency]: typed } })}
            />
          ))}
          <Select
            label={t('rates.add')}
            placeholder="USD"
            searchable
            value={null}
            data={Intl.supportedValuesOf('currency').filter(
              (currency) => currency !== 'RUB' && !Object.hasOwn(own, currency),
            )}
            onChange={(currency) => currency !== null && onChange({ fetched, own: { ...own, [currency]: '' } })}
          />
        </div>
      )}
    </Stack>
  )
}

/** The currencies in which providers bill come first. */
const USUAL: readonly string[] = ['USD', 'EUR', 'CNY', 'KZT']

function rankOf(currency: string): number {
  const at = USUAL.indexOf(currency)
  return at === -1 ? USUAL.length : at
}

/** Sets the rates of currencies that have none, in the form that needs them: nobody has to leave it. */
export function MissingRates({ currencies }: { readonly currencies: readonly string[] }) {
  const [own, setOwn] = useState<RatesDraft['own']>({})
  const save = useAct('PATCH /admin/v1/settings', { quiet: true, renews: SETTINGS_RENEWS })
  // The Bank answers after the setting is saved.
  const settings = useRead('GET /admin/v1/settings', {}, { everyMs: ASKS_MS, enabled: currencies.length > 0 })
  const fetched = settings.data?.rates['source'] !== undefined
  const service = useRead('GET /admin/v1/warnings', {}, { everyMs: ASKS_MS, enabled: fetched && currencies.length > 0 })
  const failed = service.data?.data.find(({ kind }) => kind === 'rates_failed')
  if (currencies.length === 0) return null
  const draft = {
    fetched,
    own: Object.fromEntries(currencies.map((currency) => [currency, ownValue(own, currency) ?? ''])),
  }
  return (
    <Alert
      color="gray"
      mb="md"
      icon={<WarningIcon />}
      role="status"
      title={t('connect.no_rate', { currency: currencies.join(', ') })}
    >
      <Stack gap="sm">
        {save.error !== null && <Failed failure={save.error} />}
        <Switch
          label={t('rates.fetched')}
          description={t(fetched && failed === undefined ? 'rates.asking' : 'rates.fetched_hint')}
          checked={fetched}
          disabled={save.isPending}
          onChange={({ currentTarget }) =>
            save.mutate({ body: { rates: currentTarget.checked ? { source: 'cbr' } : {} } })
          }
        />
        {failed?.kind === 'rates_failed' && (
          <Text size="sm">
            {t('warnings.rates_failed')}. {t('failure.said')}: <Said text={failed.reason} />
          </Text>
        )}
        {(!fetched || failed !== undefined) && (
          <Group align="flex-end" gap="sm">
            {currencies.map((currency) => (
              <NumberField
                key={currency}
                label={t('rates.one', { currency })}
                unit="₽"
                decimals={DECIMALS}
                least={0.000_001}
                value={ownValue(own, currency) ?? ''}
                onChange={(rate) => setOwn({ ...own, [currency]: rate })}
              />
            ))}
            <Press
              variant="default"
              loading={save.isPending}
              disabled={Object.values(draft.own).every((rate) => !(Number(rate) > 0))}
              onClick={() => save.mutate({ body: { rates: givenRates({ ...draft, fetched: false }) } })}
              text={t('rates.save')}
            />
          </Group>
        )}
      </Stack>
    </Alert>
  )
}
