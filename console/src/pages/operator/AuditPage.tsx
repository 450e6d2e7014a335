import { Alert, Progress } from '@mantine/core'
import { useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { t } from '../../parts/words.ts'
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
    </OperatorPage>
  )
}
