import { Alert } from '@mantine/core'
import { Link, useLocation } from '@tanstack/react-router'
import type { OperatorWarning } from '../../../../src/api/admin/report-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { Empty, type EmptyProps, Outline } from '../../parts/Loaded.tsx'
import { Page, type PageProps } from '../../parts/Page.tsx'
import { format, t } from '../../parts/words.ts'
import { useProfile } from '../../session.tsx'
import { isOpened } from '../../shell/navigation.ts'
import { Said } from '../../parts/cells.tsx'

const EVERY_MS = 60_000

/** A page for operators. Other users see that they may not open it; the server refuses them in any case. */
export function OperatorPage(props: PageProps) {
  const closed = useClosed()
  if (closed !== null)
    return (
      <Page title={props.title}>
        <Empty {...closed} />
      </Page>
    )
  return (
    <Page {...props}>
      <Can call="GET /admin/v1/warnings">
        <Warnings />
      </Can>
      {props.children}
    </Page>
  )
}

/** Why the page is not for this reader; null = it is. */
function useClosed(): EmptyProps | null {
  const { role, must_enrol_totp: mustEnrol, scopes, operator_role: own } = useProfile()
  const { pathname } = useLocation()
  if (role !== 'admin') return { picture: 'locked', title: t('operator.not_for_you') }
  if (mustEnrol)
    return { picture: 'shield', title: t('shell.enrol'), action: <Link to="/security">{t('shell.enrol_link')}</Link> }
  if (isOpened(scopes, pathname)) return null
  const title = t('operator.not_for_role', { role: own === null ? '' : t(`role.${own}`) })
  return { picture: 'locked', title, text: t('operator.not_for_role_text') }
}

/** Problems of the service itself; a warning disappears when its cause is fixed. */
function Warnings() {
  // The page is useful without the warnings, and shows its own failures.
  const warnings = useRead('GET /admin/v1/warnings', {}, { everyMs: EVERY_MS })
  if (warnings.isLoading) return <Outline height={400} />
  return warnings.data?.data.map((warning) => <Warning key={warning.kind} warning={warning} />)
}

function Warning({ warning }: { readonly warning: OperatorWarning }) {
  const since = format.dateTime(warning.since)
  switch (warning.kind) {
    case 'rates_failed':
      return (
        <Alert color="yellow" role="status" title={t('warnings.rates_failed')}>
          {t('warnings.rates_failed_text', { since })} {t('failure.said')}: <Said text={warning.reason} />
        </Alert>
      )
    case 'rates_refused':
      return (
        <Alert color="yellow" role="status" title={t('warnings.rates_refused')}>
          {t('warnings.rates_refused_text', { since })}
          <ul className="bullets">
            {warning.rates.map(({ currency, rate, held }) => (
              <li key={currency}>{t('warnings.rates_refused_rate', { currency, rate, held })}</li>
            ))}
          </ul>
        </Alert>
      )
  }
}
