import { Button } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { confirm } from '../../parts/confirm.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import type { EmptyProps } from '../../parts/Loaded.tsx'
import { Section } from '../../parts/Section.tsx'
import type { Receiver, ReceiverWishes } from './receiver.ts'
import { ReceiverDialogs, type OpenedDialog } from './ReceiverDialogs.tsx'
import type { ReceiverChoice } from './ReceiverForm.tsx'
import { ReceiverList } from './ReceiverList.tsx'

/** Who is told: the receivers of the operator or of an account, and what changes them. */
export function Receivers({
  receivers,
  lead,
  empty,
  choice,
  wishes,
}: {
  readonly receivers: readonly Receiver[]
  readonly lead?: string
  readonly empty: EmptyProps
  readonly choice: ReceiverChoice
  /** null = the reader only sees them. */
  readonly wishes: ReceiverWishes | null
}): ReactNode {
  const { t } = useTranslation()
  const [opened, setOpened] = useState<OpenedDialog | null>(null)
  const add = wishes !== null && (
    <Button
      leftSection={<PlusIcon size={17} />}
      onClick={() => {
        wishes.add.forget()
        setOpened({ dialog: 'add' })
      }}
    >
      {t('notices.add')}
    </Button>
  )
  const ask = ({ id, target }: Receiver): void =>
    confirm({
      name: 'receiver-delete',
      title: t('notices.ask_delete', { target }),
      text: t('notices.ask_delete_text'),
      act: t('common.delete'),
      onConfirm: () => wishes?.remove.run(id),
    })
  return (
    <Section title={t('notices.receivers')} lead={lead} actions={add}>
      <ReceiverList
        receivers={receivers}
        empty={empty}
        acts={
          wishes === null
            ? null
            : {
                wishes,
                edit: (receiver) => setOpened({ dialog: 'terms', receiver }),
                confirm: (receiver) => {
                  wishes.code?.confirm.forget()
                  setOpened({ dialog: 'code', receiver })
                },
                remove: ask,
              }
        }
      />
      {wishes !== null && <ReceiverDialogs opened={opened} open={setOpened} choice={choice} wishes={wishes} />}
    </Section>
  )
}
