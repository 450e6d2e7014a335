import { Alert, Button, Group, Stack } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { NewKey } from '../../../../src/api/cabinet/key-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { CopyBlock } from '../../parts/Copy.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { FirstArrival } from '../home/FirstArrival.tsx'
import { FirstRequest } from '../home/FirstRequest.tsx'
import { UseItWith } from './UseItWith.tsx'

/** A new key in full. It is shown only this time, so only the button closes it. */
export function ShownOnce({
  made,
  close,
}: {
  readonly made: Pick<NewKey, 'key' | 'name'> | null
  readonly close: () => void
}): ReactNode {
  const { t } = useTranslation()
  const summary = useRead('GET /cabinet/v1/summary', {})
  const [isFirst, setIsFirst] = useState<boolean | null>(null)
  // It stays when the request has arrived, so that it is seen.
  if (isFirst === null && summary.data !== undefined) setIsFirst(!summary.data.has_requests)
  return (
    <Dialog
      name="key-secret"
      opened={made !== null}
      onClose={close}
      title={t('keys.made', { name: made?.name ?? '' })}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      {made !== null && (
        <Stack>
          <Alert color="yellow">{t('keys.shown_once')}</Alert>
          <CopyBlock text={made.key} label={t('keys.key')} />
          {summary.data !== undefined && <FirstRequest summary={summary.data} apiKey={made.key} />}
          {isFirst === true && <FirstArrival />}
          <UseItWith apiKey={made.key} />
          <Group justify="flex-end">
            <Button onClick={close}>{t('keys.kept')}</Button>
          </Group>
        </Stack>
      )}
    </Dialog>
  )
}
