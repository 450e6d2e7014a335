import { Select } from '@mantine/core'
import type { Static } from '../../../../src/base/schema.ts'
import { ownValue } from '../../../../src/base/own-value.ts'
import { dayAfter } from '../../../../src/base/time.ts'
import type { ModelEntry } from '../../../../src/api/admin/catalog-contract.ts'
import type { ComingChange } from '../../../../src/api/admin/group-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { DayField } from '../../parts/DayField.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { Section } from '../../parts/Page.tsx'
import { Note } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'
import { startOfDay, today } from '../../parts/zoned-day.ts'
import { useSession } from '../../session.tsx'
import { priceName } from '../models/PriceLines.tsx'
import { MarkupField } from './MarkupField.tsx'

const COMING_RENEWS = ['GET /admin/v1/coming-prices', 'GET /cabinet/v1/models'] as const

/** Prices that count from a later day on; nothing where there are none. */
export function ComingPrices() {
  const can = useCan()
  const enabled = can('GET /admin/v1/coming-prices')
  const changes = useRead('GET /admin/v1/coming-prices', {}, { enabled }).data?.data ?? []
  const withdraw = useAct('DELETE /admin/v1/coming-prices/:id', { renews: COMING_RENEWS, said: t('coming.withdrawn') })
  if (changes.length === 0) return null
  const ask = ({ id, accounts }: Static<typeof ComingChange>): void =>
    withdraw.ask({
      name: 'coming-withdraw',
      title: t('coming.ask_withdraw'),
      text: t('coming.ask_withdraw_text', { count: accounts }),
      act: t('coming.withdraw'),
      input: { params: { id } },
    })
  return (
    <Section title={t('coming.title')} lead={t('coming.lead')}>
      <DataList
        name="coming-prices"
        label={t('coming.title')}
        rows={changes}
        empty={{ picture: 'calm', title: t('coming.title') }}
        columns={[
          { id: 'from', title: t('coming.from'), as: 'moment', value: 'from' },
          {
            id: 'models',
            title: t('nav.models'),
            wide: true,
            cell: ({ models, model_count: count, failure }) =>
              failure ?? (
                <>
                  {models.slice(0, SHOWN_MAX).map(({ id, name, before, after }) => (
                    <div key={id}>
                      {name}: <Changed before={before} after={after} />
                    </div>
                  ))}
                  {count > SHOWN_MAX && <Note>{t('coming.more', { count: count - SHOWN_MAX })}</Note>}
                </>
              ),
          },
          {
            id: 'state',
            title: t('keys.state'),
            word: ({ failure }) => (failure === null ? ['good', t('coming.waits')] : ['bad', t('coming.failed')]),
          },
          { id: 'accounts', title: t('coming.accounts'), as: 'count', value: 'accounts' },
          {
            id: 'actions',
            acts: (change) =>
              can('DELETE /admin/v1/coming-prices/:id')
                ? [{ label: t('coming.withdraw'), run: () => ask(change) }]
                : [],
          },
        ]}
      />
    </Section>
  )
}

const SHOWN_MAX = 5

type Prices = Static<typeof ComingChange>['models'][number]['before']

function Changed({ before, after }: { readonly before: Prices; readonly after: Prices }) {
  const lines = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
    const [was = '0', is = '0'] = [ownValue(before, key), ownValue(after, key)]
    return was === is ? [] : [`${priceName(key)} ${format.price(was)} → ${format.price(is)}`]
  })
  return lines.length === 0 ? t('coming.conditions') : lines.join('; ')
}

/** The day from which prices count, for a form of prices; empty = at once. */
export function ComingDay({
  required = false,
  ...field
}: {
  readonly value?: string
  readonly onChange: (day: string) => void
  readonly required?: boolean
}) {
  const tomorrow = dayAfter(today(useSession().service.service_timezone), 1)
  const hint = t(required ? 'coming.day_hint' : 'coming.day_hint_empty')
  return <DayField label={t('coming.from')} description={hint} min={tomorrow} required={required} {...field} />
}

/** Announces prices of a model. */
export function useAnnounced(done: () => void) {
  const timeOf = useComingTime()
  const call = useAct('POST /admin/v1/coming-prices', {
    quiet: true,
    said: t('coming.announced'),
    renews: COMING_RENEWS,
    done,
  })
  const announce = (day: string, model: ModelEntry): void =>
    call.mutate({ body: { from: timeOf(day), models: [model] } })
  return { ...call, announce }
}

/** When a day begins for the service. */
function useComingTime(): (day: string) => string {
  const zone = useSession().service.service_timezone
  return (day) => startOfDay(day, zone)?.toISOString() ?? day
}

/** Another markup of the service or of a provider, from a day on. */
export function ComingMarkup({ done }: { readonly done: () => void }) {
  const { providers = {} } = useRead('GET /admin/v1/catalog', {}).data ?? {}
  const timeOf = useComingTime()
  const form = useCall('POST /admin/v1/coming-prices', {
    renews: COMING_RENEWS,
    first: { provider: '', markup: '', from: '' },
    said: t('coming.announced'),
    input: ({ provider, markup, from }) => ({
      body: { from: timeOf(from), ...(provider === '' ? { markup } : { providers: { [provider]: markup } }) },
    }),
    done,
  })
  return (
    <Form of={form} form="dialog" act={t('coming.announce')}>
      <Select
        label={t('coming.whose')}
        data={[
          { value: '', label: t('coming.everything') },
          ...Object.entries(providers).map(([slug, { name }]) => ({ value: slug, label: name ?? slug })),
        ]}
        {...form.field('provider')}
      />
      <MarkupField required {...form.field('markup')} />
      <ComingDay required {...form.field('from')} />
      <Note>{t('coming.models_hint')}</Note>
    </Form>
  )
}
