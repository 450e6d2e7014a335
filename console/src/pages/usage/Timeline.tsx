import { Text } from '@mantine/core'
import type { CSSProperties, ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { RequestStory } from '../../../../src/api/cabinet/log-contract.ts'
import { Facts } from '../../parts/Facts.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from './timeline.module.css'

/** The time of a request to scale: from its arrival to the first token, then to the end. */
export function Timeline({
  story,
}: {
  readonly story: Pick<RequestStory, 'timings' | 'latency_ms' | 'duration_ms'>
}): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const { timings, latency_ms: latency, duration_ms: duration } = story
  const waited = latency === null ? 1 : Math.min(1, latency / Math.max(1, duration))
  // The type CSSProperties does not have custom properties.
  const style = { '--waited': waited } as CSSProperties
  return (
    <>
      <div className={css.track} style={style} aria-hidden="true">
        <span className={css.wait} />
        <span className={css.flow} />
      </div>
      <div className={css.legend}>
        <Text size="xs" c="dimmed">
          {t('request.waiting', { time: format.duration(latency ?? duration) })}
        </Text>
        {latency !== null && (
          <Text size="xs" c="dimmed">
            {t('request.answering', { time: format.duration(duration - latency) })}
          </Text>
        )}
      </div>
      <Facts
        items={[
          [t('request.arrived'), format.dateTime(timings.arrived_at)],
          [t('request.first_token'), timings.first_token_at === null ? null : format.dateTime(timings.first_token_at)],
          [t('request.ended'), format.dateTime(timings.ended_at)],
        ]}
      />
    </>
  )
}
