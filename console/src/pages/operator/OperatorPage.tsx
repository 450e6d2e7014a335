import { Alert } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Page, type PageProps } from '../../parts/Page.tsx'
import { useProfile } from '../../session.tsx'
import { Warnings } from './Warnings.tsx'

/** A page of the operator's part. Other users see that it is not for them; the server refuses them anyway. */
export function OperatorPage(props: PageProps): ReactNode {
  const { t } = useTranslation()
  const { role, must_enrol_totp: mustEnrol } = useProfile()
  if (role === 'admin' && !mustEnrol)
    return (
      <Page {...props}>
        <Warnings />
        {props.children}
      </Page>
    )
  return (
    <Page title={props.title}>
      <Alert color="yellow" title={role === 'admin' ? t('shell.enrol') : t('operator.not_for_you')}>
        {role === 'admin' && <Link to="/security">{t('shell.enrol_link')}</Link>}
      </Alert>
    </Page>
  )
}
