import { Alert, Button, Stack } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRead } from '../../../api/hooks.ts'
import { Can } from '../../../parts/Can.tsx'
import { CopyBlock } from '../../../parts/Copy.tsx'
import { Dialog } from '../../../parts/Dialog.tsx'
import { PlusIcon } from '../../../parts/icons.ts'
import { Loaded } from '../../../parts/Loaded.tsx'
import { Section } from '../../../parts/Section.tsx'
import { OperatorPage } from '../OperatorPage.tsx'
import { Deliveries } from './Deliveries.tsx'
import { ReceiverForm } from './ReceiverForm.tsx'
import { Receivers } from './Receivers.tsx'

/** Who is told of what, and what was sent. */
export function NoticesPage(): ReactNode {
  const { t } = useTranslation()
  const channels = useRead('GET /admin/v1/notices/channels', {})
  const [adding, setAdding] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  return (
    <OperatorPage
      title={t('nav.notices')}
      lead={t('notices.lead')}
      actions={
        <Can call="POST /admin/v1/notices/channels">
          <Button leftSection={<PlusIcon size={17} />} onClick={() => setAdding(true)}>
            {t('notices.add')}
          </Button>
        </Can>
      }
    >
      <Loaded of={channels} height={160}>
        {({ data }) => <Receivers receivers={data} />}
      </Loaded>
      <Section title={t('notices.sent')} lead={t('notices.sent_lead')}>
        <Deliveries receivers={channels.data?.data ?? []} />
      </Section>
      <Dialog opened={adding} onClose={() => setAdding(false)} title={t('notices.add')} size="lg">
        {adding && (
          <ReceiverForm
            done={(answer) => {
              setAdding(false)
              setSecret(answer.secret)
            }}
          />
        )}
      </Dialog>
      <Dialog opened={secret !== null} onClose={() => setSecret(null)} title={t('notices.secret')} size="lg">
        {secret !== null && (
          <Stack>
            <Alert color="yellow">{t('notices.secret_once')}</Alert>
            <CopyBlock text={secret} label={t('notices.secret')} />
            <Button ml="auto" onClick={() => setSecret(null)}>
              {t('tokens.kept')}
            </Button>
          </Stack>
        )}
      </Dialog>
    </OperatorPage>
  )
}
