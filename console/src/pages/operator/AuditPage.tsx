import { Alert, Button, Progress, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Answer } from '../../api/endpoint.ts'
import { useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'

const SHOWN_VIOLATIONS = 20

/** Whether every ruble is where it should be. */
export function AuditPage(): ReactNode {
  const { t } = useTranslation()
  const audit = useRead('GET /admin/v1/audit', { query: {} })
  return (
    <OperatorPage
      title={t('nav.audit')}
      lead={t('audit.lead')}
      actions={
        <Button loading={audit.isFetching} onClick={() => void audit.refetch()}>
          {t('audit.run')}
        </Button>
      }
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
            <Checks checks={checks} />
          </>
        )}
      </Loaded>
    </OperatorPage>
  )
}

function Checks({ checks }: { readonly checks: Answer<'GET /admin/v1/audit'>['checks'] }): ReactNode {
  const { t } = useTranslation()
  return (
    <DataList
      name="audit"
      label={t('nav.audit')}
      rows={checks}
      rowId={({ id }) => id}
      empty={{ picture: 'calm', title: t('audit.none') }}
      columns={[
        {
          id: 'name',
          title: t('audit.check'),
          value: ({ id }) => t(`invariant.${id}`),
          cell: ({ id }) => (
            <div>
              {t(`invariant.${id}`)}
              <Text size="xs" c="dimmed">
                {id}
              </Text>
            </div>
          ),
        },
        {
          id: 'state',
          title: t('request.outcome'),
          value: (check) => t(check.ok ? 'audit.holds' : 'audit.broken'),
          cell: (check) => (
            <StatusBadge tone={check.ok ? 'good' : 'bad'}>
              {check.ok ? t('audit.holds') : t('audit.broken')}
            </StatusBadge>
          ),
        },
        {
          id: 'violations',
          title: t('audit.violations'),
          value: (check) => check.violations.join('; '),
          cell: (check) =>
            check.violations.slice(0, SHOWN_VIOLATIONS).map((line) => (
              <div key={line}>
                <code className={css.mono} lang="en">
                  {line}
                </code>
              </div>
            )),
        },
      ]}
    />
  )
}
