import { useAct, useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { ReadList } from '../../parts/DataList.tsx'
import { t } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'

const REFRESH_MS = 10_000

/** IP addresses that were blocked because they tried too many wrong keys. */
export function IpBlocksPage() {
  const can = useCan()
  const lift = useAct('DELETE /admin/v1/ip-blocks/*ip', {
    renews: ['GET /admin/v1/ip-blocks'],
    said: t('blocks.lifted'),
  })
  return (
    <OperatorPage title={t('nav.ip_blocks')} lead={t('blocks.lead')}>
      <ReadList
        of={useRead('GET /admin/v1/ip-blocks', {}, { everyMs: REFRESH_MS })}
        name="ip-blocks"
        label={t('nav.ip_blocks')}
        rowId={({ ip }) => ip}
        empty={{ picture: 'shield', title: t('blocks.none') }}
        columns={[
          { id: 'ip', title: 'IP', value: ({ ip }) => ip },
          { id: 'until', title: t('blocks.until'), as: 'moment', value: ({ until }) => until },
          { id: 'times', title: t('blocks.times'), as: 'count', value: ({ times }) => times },
          {
            id: 'actions',
            acts: ({ ip }) => [
              can('DELETE /admin/v1/ip-blocks/*ip') && {
                label: t('blocks.lift'),
                run: () =>
                  lift.ask({
                    name: 'block-lift',
                    title: t('blocks.ask_lift', { ip }),
                    text: t('blocks.ask_lift_text'),
                    act: t('blocks.lift'),
                    harmful: false,
                    input: { params: { ip } },
                  }),
              },
            ],
          },
        ]}
      />
    </OperatorPage>
  )
}
