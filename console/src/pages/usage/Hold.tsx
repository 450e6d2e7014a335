import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { StoryParts } from '../../../../src/api/records/request-story-contract.ts'
import { Facts } from '../../parts/Facts.tsx'
import { useFormat } from '../../parts/use-format.ts'

/** The money that was set aside for a request, and what became of it. */
export function Hold({ hold }: { readonly hold: StoryParts['hold'] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  if (hold === null) return <Text c="dimmed">{t('request.no_hold')}</Text>
  return (
    <Facts
      items={[
        [t('request.held'), `${format.money(hold.amount)} · ${format.time(hold.placed_at)}`],
        [t('request.hold_state'), t(`request.hold_${hold.state}`)],
        [t('request.charged'), format.money(hold.charged)],
        [t('request.returned'), format.money(hold.returned)],
        [t('request.shortfall'), hold.shortfall === 0 ? null : format.money(hold.shortfall)],
        [t('request.ended'), hold.ended_at === null ? null : format.dateTime(hold.ended_at)],
      ]}
    />
  )
}
