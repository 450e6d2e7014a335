import { Alert, Title } from '@mantine/core'
import type { ServiceStatus } from '../../../../src/api/cabinet/model-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { CheckIcon, WarningIcon } from '../../parts/icons.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Note, type Tone } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'
import { useSession, useTitle } from '../../session.tsx'
import { Announcement } from '../../shell/Shell.tsx'

type State = ServiceStatus['state']

const TONES: Readonly<Record<State, Tone>> = { operational: 'good', degraded: 'warn', down: 'bad', unknown: 'quiet' }
const COLOURS = { operational: 'green', degraded: 'yellow', down: 'red', unknown: 'gray' } as const
const ORDER: readonly State[] = ['down', 'degraded', 'operational', 'unknown']
const EVERY_MS = 60_000

/** How the service and its models are, for anybody. */
export function StatusPage() {
  useTitle(t('service_status.title'))
  const { maintenance } = useSession().service
  const status = useRead('GET /cabinet/v1/status', {}, { everyMs: EVERY_MS })
  return (
    <>
      <Title order={1} size="h2" mb="md">
        {t('service_status.title')}
      </Title>
      <Announcement mb="md" />
      {maintenance !== null && (
        <Alert color="yellow" icon={<WarningIcon />} title={t('service_status.maintenance')} mb="md">
          {maintenance.message}
        </Alert>
      )}
      <Loaded of={status} height={480}>
        {(shown) => <Models status={shown} isInMaintenance={maintenance !== null} />}
      </Loaded>
    </>
  )
}

interface ModelsProps {
  readonly status: ServiceStatus
  readonly isInMaintenance: boolean
}

function Models({ status: { at, state, models }, isInMaintenance }: ModelsProps) {
  return (
    <>
      {!isInMaintenance && (
        <Alert
          color={COLOURS[state]}
          icon={state === 'operational' ? <CheckIcon /> : <WarningIcon />}
          title={t(`service_status.all_${state}`)}
          role="status"
        />
      )}
      <Note my="md">{t('service_status.lead', { time: format.clock(at) })}</Note>
      <DataList
        name="status"
        label={t('service_status.title')}
        rows={models.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state))}
        empty={{ picture: 'model', title: t('models.none') }}
        columns={[
          { id: 'model', title: t('usage.model'), value: 'name' },
          { id: 'type', title: t('models.type'), value: ({ type }) => t(`type.${type}`) },
          {
            id: 'state',
            title: t('keys.state'),
            word: (model) => [TONES[model.state], t(`service_status.${model.state}`)],
          },
          {
            id: 'uptime',
            title: t('service_status.uptime'),
            end: true,
            value: 'uptime_1d',
            cell: ({ uptime_1d: up }) => (up === null ? '–' : format.percent(up / 100, 2)),
          },
        ]}
      />
    </>
  )
}
