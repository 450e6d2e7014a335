import { Alert, Button, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { CopyBlock } from '../../parts/Copy.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { ConfirmForm } from './ConfirmForm.tsx'
import type { Receiver, ReceiverWishes } from './receiver.ts'
import { ReceiverForm, ReceiverTermsForm, type ReceiverChoice } from './ReceiverForm.tsx'

/** What stands over the list of receivers. */
export type OpenedDialog =
  | { readonly dialog: 'add' }
  | { readonly dialog: 'terms' | 'code'; readonly receiver: Receiver }
  | { readonly dialog: 'secret'; readonly secret: string }

interface ReceiverDialogsProps {
  readonly opened: OpenedDialog | null
  readonly open: (dialog: OpenedDialog | null) => void
  readonly choice: ReceiverChoice
  readonly wishes: ReceiverWishes
}

export function ReceiverDialogs({ opened, open, choice, wishes }: ReceiverDialogsProps): ReactNode {
  const { t } = useTranslation()
  const close = (): void => open(null)
  const edited = opened?.dialog === 'terms' ? opened.receiver : null
  const unproven = opened?.dialog === 'code' ? opened.receiver : null
  return (
    <>
      <Dialog name="receiver" opened={opened?.dialog === 'add'} onClose={close} title={t('notices.add')} size="lg">
        {opened?.dialog === 'add' && (
          <ReceiverForm
            choice={choice}
            add={wishes.add}
            done={({ secret, ...made }) => {
              if (secret !== null) open({ dialog: 'secret', secret })
              else open(made.confirmed === false ? { dialog: 'code', receiver: made } : null)
            }}
          />
        )}
      </Dialog>
      <Dialog
        name="receiver-terms"
        opened={edited !== null}
        onClose={close}
        title={t('notices.edit', { target: edited?.target ?? '' })}
        size="lg"
      >
        {edited !== null && (
          <ReceiverTermsForm receiver={edited} kinds={choice.kinds} change={wishes.change} done={close} />
        )}
      </Dialog>
      <Dialog name="receiver-code" opened={unproven !== null} onClose={close} title={t('notices.confirm_title')}>
        {unproven !== null && wishes.code !== undefined && (
          <ConfirmForm receiver={unproven} code={wishes.code} done={close} />
        )}
      </Dialog>
      <Secret secret={opened?.dialog === 'secret' ? opened.secret : null} close={close} />
    </>
  )
}

/** What signs a webhook's messages. It is shown this once, so only the button closes it. */
function Secret({ secret, close }: { readonly secret: string | null; readonly close: () => void }): ReactNode {
  const { t } = useTranslation()
  return (
    <Dialog
      name="receiver-secret"
      opened={secret !== null}
      onClose={close}
      title={t('notices.secret')}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      {secret !== null && (
        <Stack>
          <Alert color="yellow">{t('notices.secret_once')}</Alert>
          <CopyBlock text={secret} label={t('notices.secret')} />
          <Button ml="auto" onClick={close}>
            {t('notices.secret_kept')}
          </Button>
        </Stack>
      )}
    </Dialog>
  )
}
