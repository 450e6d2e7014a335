import { ButtonLink } from '../../parts/cells.tsx'
import { Page } from '../../parts/Page.tsx'
import { t } from '../../parts/words.ts'
import { Ledger } from './Ledger.tsx'

/** Every entry of the own account. */
export function LedgerPage() {
  return (
    <Page
      title={t('nav.ledger')}
      lead={t('ledger.lead')}
      actions={
        <ButtonLink to="/statement" variant="default">
          {t('nav.statement')}
        </ButtonLink>
      }
    >
      <Ledger />
    </Page>
  )
}
