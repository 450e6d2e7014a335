import { Button, Group, Progress, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { SendIcon, StopIcon } from '../../parts/icons.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { useFormat } from '../../parts/use-format.ts'
import type { Run } from './use-run.ts'

export interface RunBarProps {
  readonly run: Pick<Run<unknown>, 'busy' | 'failure' | 'start' | 'stop'>
  readonly ready: boolean
  /** RUB, once it is known. */
  readonly cost: number | null
  /** 0 to 100; null = not known. */
  readonly progress?: number | null
}

/** Start, stop, the cost and the error: the same under every tab. */
export function RunBar({ run, ready, cost, progress = null }: RunBarProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <>
      <Group justify="space-between">
        <Group gap="xs">
          <Button onClick={run.start} loading={run.busy} disabled={!ready} leftSection={<SendIcon size={17} />}>
            {t('play.run')}
          </Button>
          {run.busy && (
            <Button variant="default" onClick={run.stop} leftSection={<StopIcon size={17} />}>
              {t('play.stop')}
            </Button>
          )}
        </Group>
        {cost !== null && (
          <Text fw={600} role="status">
            {t('play.cost', { amount: format.money(cost) })}
          </Text>
        )}
      </Group>
      {run.busy && <Progress value={progress ?? 100} animated aria-label={t('common.loading')} />}
      {run.failure !== null && <Failed failure={run.failure} />}
    </>
  )
}
