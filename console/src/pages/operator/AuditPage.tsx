import { Alert, Progress } from '@mantine/core'
import { useState } from 'react'
import { given } from '../../api/endpoint.ts'
import { useRead } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { RangeFields, useRange } from '../../parts/RangeFields.tsx'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Section } from '../../parts/Page.tsx'
import { format, t } from '../../parts/words.ts'
import { type DayRange, endOfDay, startOfDay } from '../../parts/zoned-day.ts'
import { useSession } from '../../session.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { Press } from '../../parts/cells.tsx'

const SHOWN_VIOLATIONS = 20

/** The result of the audit of the books. */
export function AuditPage() {
  const audit = useRead('GET /admin/v1/audit', { query: {} })
  return (
    <OperatorPage
      title={t('nav.audit')}
      lead={t('audit.lead')}
      actions={<Press loading={audit.isFetching} onClick={() => void audit.refetch()} text={t('audit.run')} />}
    >
      {audit.isFetching && <Progress value={100} animated aria-label={t('audit.running')} />}
      <Loaded of={audit} height={400}>
        {({ ok, violations, checks }) => (
          <>
            <Alert
              color={ok ? 'teal' : 'red'}
              role="status"
              title={ok ? t('audit.ok') : t('audit.not_ok', { count: violations })}
            />
            <DataList
              name="audit"
              label={t('nav.audit')}
              rows={checks}
              empty={{ picture: 'calm', title: t('audit.none') }}
              columns={[
                { id: 'name', title: t('audit.check'), value: ({ id }) => t(`invariant.${id}`), under: ({ id }) => id },
                {
                  id: 'state',
                  title: t('request.outcome'),
                  word: (check) => (check.ok ? ['good', t('audit.holds')] : ['bad', t('audit.broken')]),
                },
                {
                  id: 'violations',
                  title: t('audit.violations'),
                  value: ({ found }) => found.join('; '),
                  cell: ({ found }) =>
                    found.slice(0, SHOWN_VIOLATIONS).map((line) => (
                      <div key={line} className="mono" lang="en">
                        {line}
                      </div>
                    )),
                },
              ]}
            />
          </>
        )}
      </Loaded>
      <Can call="GET /admin/v1/audit/replay">
        <Replay />
      </Can>
    </OperatorPage>
  )
}

/** The charges of some days, computed again from the log. */
function Replay() {
  const { service } = useSession()
  const range = useRange()
  const [asked, setAsked] = useState<DayRange | null>(null)
  const zone = service.service_timezone
  const query =
    asked === null
      ? {}
      : given({ from: startOfDay(asked.from, zone)?.toISOString(), to: endOfDay(asked.to, zone)?.toISOString() })
  const replay = useRead('GET /admin/v1/audit/replay', { query }, { enabled: asked !== null })
  return (
    <Section title={t('audit.replay')} lead={t('audit.replay_lead')}>
      <div className="fields">
        <RangeFields {...range} />
        <Press
          variant="default"
          loading={replay.isFetching}
          onClick={() => setAsked(range.range)}
          text={t('audit.replay_run')}
        />
      </div>
      {asked !== null && (
        <Loaded of={replay} height={240}>
          {({ ok, rows, charged, violations, found, types }) => (
            <>
              <Alert
                color={ok ? 'teal' : 'red'}
                role="status"
                my="md"
                title={ok ? t('audit.replay_ok') : t('audit.replay_not_ok', { count: violations })}
              >
                {t('audit.replayed', { count: rows, shown: format.number(rows), amount: format.money(charged) })}
                {found.slice(0, SHOWN_VIOLATIONS).map((line) => (
                  <div key={line} className="mono" lang="en">
                    {line}
                  </div>
                ))}
              </Alert>
              <List
                label={t('audit.replay')}
                rows={types}
                rowId={({ type }) => type}
                empty={{ picture: 'chart', title: t('usage.none') }}
                columns={[
                  { id: 'type', title: t('models.type'), value: 'type' },
                  { id: 'rows', title: t('usage.requests'), as: 'count', value: 'rows' },
                  { id: 'charged', title: t('margin.revenue'), as: 'money', value: 'charged' },
                  { id: 'cost', title: t('margin.provider_cost'), as: 'money', value: 'provider_cost' },
                ]}
              />
            </>
          )}
        </Loaded>
      )}
    </Section>
  )
}
