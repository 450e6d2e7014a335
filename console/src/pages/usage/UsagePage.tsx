import { SegmentedControl, Select } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { UsageGroup } from '../../../../src/api/cabinet/log-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { lastDays, type DayRange } from '../../parts/day-range.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { RangeFields } from '../../parts/RangeFields.tsx'
import { useFormat } from '../../parts/use-format.ts'
import { endOfDay, startOfDay } from '../../parts/zoned-day.ts'
import { useSession } from '../../session.tsx'
import css from '../../style/layout.module.css'
import { UsageReport, type LogSpan } from './UsageReport.tsx'

const DEFAULT_DAYS = 30
const HOUR_MS = 3_600_000
const HOURS = ['6', '24', '72', '168'] as const
type Hours = (typeof HOURS)[number]

/** Spend and requests by day or hour, split by model, key or app. */
export function UsagePage(): ReactNode {
  const { t } = useTranslation()
  const [by, setBy] = useState<'day' | 'hour'>('day')
  const [range, setRange] = useState(lastDays(DEFAULT_DAYS))
  const [hours, setHours] = useState<Hours>('24')
  const [group, setGroup] = useState<UsageGroup>('model')
  return (
    <Page
      title={t('nav.usage')}
      lead={t('usage.lead')}
      actions={
        <SegmentedControl
          value={by}
          onChange={setBy}
          data={(['day', 'hour'] as const).map((value) => ({ value, label: t(`usage.by_${value}`) }))}
          aria-label={t('usage.steps')}
        />
      }
    >
      <div className={css.fields}>
        {by === 'day' ? (
          <RangeFields range={range} change={setRange} />
        ) : (
          <Select
            label={t('range.period')}
            allowDeselect={false}
            value={hours}
            onChange={(value) => value !== null && setHours(value)}
            data={HOURS.map((value) => ({ value, label: t(`range.hours_${value}`) }))}
          />
        )}
        <Select
          label={t('usage.group')}
          allowDeselect={false}
          value={group}
          onChange={(value) => value !== null && setGroup(value)}
          data={(['model', 'key', 'app'] as const).map((value) => ({ value, label: t(`usage.by_${value}`) }))}
        />
      </div>
      {by === 'day' ? <ByDay range={range} group={group} /> : <ByHour key={hours} hours={hours} group={group} />}
    </Page>
  )
}

function ByDay({ range, group }: { readonly range: DayRange; readonly group: UsageGroup }): ReactNode {
  const usage = useRead('GET /cabinet/v1/usage', { query: { ...range, group_by: group } }, { keep: true })
  const format = useFormat()
  const { service } = useSession()
  return (
    <Loaded of={usage} height={560}>
      {(answer) => (
        <UsageReport
          totals={answer.totals}
          forecast={answer.forecast}
          groups={answer.groups}
          slots={answer.days.map(({ day }) => day)}
          cells={answer.cells.map((cell) => ({ ...cell, slot: cell.day }))}
          nameOf={(day) => format.day(day)}
          tickOf={(day) => format.day(day)}
          spanOf={(day) => daySpan(day, format.zone, service.service_timezone)}
          group={group}
          by="day"
        />
      )}
    </Loaded>
  )
}

function ByHour({ hours, group }: { readonly hours: Hours; readonly group: UsageGroup }): ReactNode {
  // The time stays while the page is read: another would be another question.
  const [to] = useState(() => Date.now())
  const query = {
    from: new Date(to - Number(hours) * HOUR_MS).toISOString(),
    to: new Date(to).toISOString(),
    group_by: group,
  }
  const usage = useRead('GET /cabinet/v1/usage/hours', { query }, { keep: true })
  const format = useFormat()
  return (
    <Loaded of={usage} height={560}>
      {(answer) => (
        <UsageReport
          totals={answer.totals}
          forecast={null}
          groups={answer.groups}
          slots={answer.hours.map(({ at }) => at)}
          cells={answer.cells.map((cell) => ({ ...cell, slot: cell.at }))}
          nameOf={(at) => format.hour(at)}
          tickOf={(at) => (hours === '6' || hours === '24' ? format.clock(at) : format.hour(at))}
          spanOf={(at) => ({ from: at, to: new Date(Date.parse(at) + HOUR_MS).toISOString() })}
          group={group}
          by="hour"
        />
      )}
    </Loaded>
  )
}

/** Days of usage are the service's; those of the log are the reader's. */
function daySpan(day: string, zone: string, serviceZone: string): LogSpan {
  const [from, to] = [startOfDay(day, serviceZone), endOfDay(day, serviceZone)]
  return zone === serviceZone || from === null || to === null
    ? { from: day, to: day }
    : { from: from.toISOString(), to: to.toISOString() }
}
