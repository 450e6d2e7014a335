import { SegmentedControl, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { AppRow } from '../../../../src/api/cabinet/log-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { LimitBar } from '../../parts/LimitBar.tsx'
import { Clip } from '../../parts/Clip.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { useFilters } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { Page } from '../../parts/Page.tsx'
import { useFormat } from '../../parts/use-format.ts'

const RANGES = ['day', '7d', '30d'] as const

/** The spending of each app, as named by HTTP-Referer and X-Title. */
export function AppsPage(): ReactNode {
  const { t } = useTranslation()
  const { filters, filter } = useFilters<'range'>()
  const range = RANGES.find((known) => known === filters.range) ?? '30d'
  const apps = useRead('GET /cabinet/v1/apps', { query: { range } }, { keep: true })
  const control = (
    <SegmentedControl
      value={range}
      onChange={(value) => filter('range', value)}
      data={RANGES.map((value) => ({ value, label: t(`apps.range_${value}`) }))}
      aria-label={t('range.period')}
    />
  )
  return (
    <Page title={t('nav.apps')} lead={t('apps.lead')} actions={control}>
      <Loaded of={apps} height={300}>
        {({ data }) => <AppList apps={data} />}
      </Loaded>
    </Page>
  )
}

function AppList({ apps }: { readonly apps: readonly AppRow[] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <DataList
      name="apps"
      label={t('nav.apps')}
      rows={apps}
      rowId={({ id }) => id}
      empty={{ picture: 'app', title: t('apps.none'), text: t('apps.none_text') }}
      columns={[
        {
          id: 'app',
          title: t('usage.app'),
          value: ({ title, url }) => title ?? url,
          // A client sent this address: it is shown, but it is not a link.
          cell: ({ id, title, url }) => (
            <div>
              <Link to="/log" search={{ app: id }}>
                {title ?? url ?? t('usage.no_app')}
              </Link>
              {url !== null && title !== null && (
                <Text size="xs" c="dimmed">
                  {url}
                </Text>
              )}
            </div>
          ),
        },
        {
          id: 'models',
          title: t('apps.models'),
          wide: true,
          value: ({ top_models: models }) => models.map(({ model }) => model).join(', '),
          cell: ({ top_models: models }) => <Clip text={models.map(({ model }) => model).join(', ')} />,
        },
        {
          id: 'requests',
          title: t('usage.requests'),
          end: true,
          value: ({ requests }) => requests,
          cell: ({ requests }) => format.number(requests),
        },
        {
          id: 'share',
          title: t('apps.share'),
          value: ({ share }) => share,
          cell: ({ share }) => (
            <div>
              <Text size="sm" mb={4}>
                {format.percent(share)}
              </Text>
              <LimitBar share={share} plain label={t('apps.share')} />
            </div>
          ),
        },
        {
          id: 'cost',
          title: t('usage.cost'),
          end: true,
          value: ({ cost }) => cost,
          cell: ({ cost }) => format.moneyInColumn(cost),
        },
        {
          id: 'last',
          title: t('keys.last_used'),
          end: true,
          value: (app) => app.last_used_at,
          cell: (app) => <Moment at={app.last_used_at} as="ago" />,
        },
      ]}
    />
  )
}
