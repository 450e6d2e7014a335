import { SegmentedControl, Text } from '@mantine/core'
import { useRead } from '../../api/hooks.ts'
import { ReadList } from '../../parts/DataList.tsx'
import { useFilters } from '../../parts/list-place.ts'
import { LimitBar, Page } from '../../parts/Page.tsx'
import { format, t } from '../../parts/words.ts'

const RANGES = ['day', '7d', '30d'] as const

/** The spending of each app, as named by HTTP-Referer and X-Title. */
export function AppsPage() {
  const { filters, filter } = useFilters<'range'>()
  const range = RANGES.find((known) => known === filters.range) ?? '30d'
  return (
    <Page
      title={t('nav.apps')}
      lead={t('apps.lead')}
      actions={
        <SegmentedControl
          value={range}
          onChange={(value) => filter('range', value)}
          data={RANGES.map((value) => ({ value, label: t(`apps.range_${value}`) }))}
          aria-label={t('range.period')}
        />
      }
    >
      <ReadList
        of={useRead('GET /cabinet/v1/apps', { query: { range } }, { keep: true })}
        height={300}
        name="apps"
        label={t('nav.apps')}
        empty={{ picture: 'app', title: t('apps.none'), text: t('apps.none_text') }}
        columns={[
          {
            id: 'app',
            title: t('usage.app'),
            value: ({ title, url }) => title ?? url,
            none: t('usage.no_app'),
            to: ({ id }) => ({ to: '/log', search: { app: id } }),
            // A client sent this address, so it is shown but is not a link.
            under: ({ title, url }) => title !== null && url,
          },
          {
            id: 'models',
            title: t('apps.models'),
            as: 'clip',
            wide: true,
            value: ({ top_models: models }) => models.map(({ model }) => model).join(', '),
          },
          { id: 'requests', title: t('usage.requests'), as: 'count', value: ({ requests }) => requests },
          {
            id: 'share',
            title: t('apps.share'),
            value: 'share',
            cell: ({ share }) => (
              <div>
                <Text size="sm" mb={4}>
                  {format.percent(share)}
                </Text>
                <LimitBar share={share} plain label={t('apps.share')} />
              </div>
            ),
          },
          { id: 'cost', title: t('usage.cost'), as: 'money', value: ({ cost }) => cost },
          { id: 'last', title: t('keys.last_used'), as: 'ago', value: 'last_used_at' },
        ]}
      />
    </Page>
  )
}
