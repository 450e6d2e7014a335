import { Text } from '@mantine/core'
import { useRead } from '../../api/hooks.ts'
import { ReadList } from '../../parts/DataList.tsx'
import { RangeFields, useRange } from '../../parts/RangeFields.tsx'
import { logSpan } from '../../parts/zoned-day.ts'
import { useSession } from '../../session.tsx'
import { LimitBar, Page } from '../../parts/Page.tsx'
import { format, t } from '../../parts/words.ts'

/** The spending of each app, as named by HTTP-Referer and X-Title. */
export function AppsPage() {
  const days = useRange()
  const { service } = useSession()
  return (
    <Page title={t('nav.apps')} lead={t('apps.lead')}>
      <div className="fields">
        <RangeFields {...days} />
      </div>
      <ReadList
        of={useRead('GET /cabinet/v1/apps', { query: days.range }, { keep: true })}
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
            to: ({ id }) => ({
              to: '/log',
              search: { app: id, ...logSpan(days.range, format.zone, service.service_timezone) },
            }),
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
