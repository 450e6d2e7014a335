import { SegmentedControl, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { AppRow } from '../../../../src/cabinet/log-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { LimitBar } from '../../parts/LimitBar.tsx'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { useFormat } from '../../parts/use-format.ts'

/** The spending of each app, as named by HTTP-Referer and X-Title. */
export function AppsPage(): ReactNode {
  const { t } = useTranslation()
  const [range, setRange] = useState<'day' | '7d' | '30d'>('30d')
  const apps = useRead('GET /cabinet/v1/apps', { query: { range } }, { keep: true })
  const control = (
    <SegmentedControl
      value={range}
      onChange={setRange}
      data={(['day', '7d', '30d'] as const).map((value) => ({ value, label: t(`apps.range_${value}`) }))}
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
    <List
      label={t('nav.apps')}
      rows={apps}
      rowId={({ id }) => id}
      empty={{ title: t('apps.none'), text: t('apps.none_text') }}
      columns={[
        {
          id: 'app',
          title: t('usage.app'),
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
          cell: ({ top_models: models }) => <Text size="sm">{models.map(({ model }) => model).join(', ')}</Text>,
        },
        { id: 'requests', title: t('usage.requests'), end: true, cell: ({ requests }) => format.number(requests) },
        {
          id: 'share',
          title: t('apps.share'),
          cell: ({ share }) => (
            <div>
              <Text size="sm" mb={4}>
                {format.percent(share)}
              </Text>
              <LimitBar share={share} plain label={t('apps.share')} />
            </div>
          ),
        },
        { id: 'cost', title: t('usage.cost'), end: true, cell: ({ cost }) => format.moneyInColumn(cost) },
        { id: 'last', title: t('keys.last_used'), end: true, cell: (app) => format.ago(app.last_used_at) },
      ]}
    />
  )
}
