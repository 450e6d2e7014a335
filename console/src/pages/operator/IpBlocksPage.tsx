import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { useFormat } from '../../parts/use-format.ts'
import { OperatorPage } from './OperatorPage.tsx'

const REFRESH_MS = 10_000

/** Addresses that guessed too many keys. */
export function IpBlocksPage(): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const blocks = useRead('GET /admin/v1/ip-blocks', {}, { everyMs: REFRESH_MS })
  const lift = useAct('DELETE /admin/v1/ip-blocks/*ip', {
    renews: ['GET /admin/v1/ip-blocks'],
    said: t('blocks.lifted'),
  })
  return (
    <OperatorPage title={t('nav.ip_blocks')} lead={t('blocks.lead')}>
      <Loaded of={blocks} height={240}>
        {({ data }) => (
          <DataList
            name="ip-blocks"
            label={t('nav.ip_blocks')}
            rows={data}
            rowId={({ ip }) => ip}
            empty={{ picture: 'shield', title: t('blocks.none') }}
            columns={[
              { id: 'ip', title: 'IP', value: ({ ip }) => ip, cell: ({ ip }) => ip },
              {
                id: 'until',
                title: t('blocks.until'),
                value: ({ until }) => until,
                cell: ({ until }) => <Moment at={until} />,
              },
              {
                id: 'times',
                title: t('blocks.times'),
                end: true,
                value: ({ times }) => times,
                cell: ({ times }) => format.number(times),
              },
              {
                id: 'actions',
                title: '',
                end: true,
                cell: ({ ip }) => (
                  <Can call="DELETE /admin/v1/ip-blocks/*ip">
                    <Button size="compact-sm" variant="subtle" onClick={() => lift.mutate({ params: { ip } })}>
                      {t('blocks.lift')}
                    </Button>
                  </Can>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </OperatorPage>
  )
}
