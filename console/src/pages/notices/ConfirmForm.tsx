import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { fieldFailure } from '../../parts/failure-text.ts'
import { Failed } from '../../parts/Loaded.tsx'
import type { Receiver, ReceiverWishes } from './receiver.ts'

/** Takes the code that was sent to a mailbox or a chat, and asks for another one. */
export function ConfirmForm({
  receiver: { id, target },
  code: { confirm, renew },
  done,
}: {
  readonly receiver: Receiver
  readonly code: NonNullable<ReceiverWishes['code']>
  readonly done: () => void
}): ReactNode {
  const { t } = useTranslation()
  const [code, setCode] = useState('')
  const problem = fieldFailure(confirm.error, ['code'])
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        confirm.run({ id, code: code.trim() }, done)
      }}
    >
      <Stack>
        <Text size="sm">{t('notices.confirm_text', { target })}</Text>
        {confirm.error !== null && problem === null && <Failed failure={confirm.error} />}
        <TextInput
          label={t('entry.code')}
          autoComplete="one-time-code"
          inputMode="numeric"
          required
          maxLength={20}
          data-autofocus
          value={code}
          onChange={({ currentTarget }) => setCode(currentTarget.value)}
          error={problem?.message}
        />
        <Group justify="space-between">
          <Button variant="subtle" disabled={renew.isPending} onClick={() => renew.run(id)}>
            {t('notices.renew')}
          </Button>
          <Button type="submit" loading={confirm.isPending} disabled={code.trim() === ''}>
            {t('notices.confirm')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
