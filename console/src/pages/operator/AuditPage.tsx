import { Alert, Button, Progress, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRead } from '../../api/hooks.ts'
import { List } from '../../parts/List.tsx'
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
            <List
              label={t('nav.audit')}
              rows={checks}
              rowId={({ id }) => id}
              empty={{ picture: 'calm', title: t('audit.none') }}
              columns={[
                {
                  id: 'name',
                  title: t('audit.check'),
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
                  cell: (check) => (
                    <StatusBadge tone={check.ok ? 'good' : 'bad'}>
                      {check.ok ? t('audit.holds') : t('audit.broken')}
                    </StatusBadge>
                  ),
                },
                {
                  id: 'violations',
                  title: t('audit.violations'),
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
          </>
        )}
      </Loaded>
    </OperatorPage>
  )
}
