import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Key, NewKey } from '../../../../src/api/cabinet/key-contract.ts'
import { useAct } from '../../api/hooks.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Failed } from '../../parts/Loaded.tsx'

/** Seconds, with the name of each in the texts. */
const GRACES = [
  ['86400', 'day'],
  ['3600', 'hour'],
  ['604800', 'week'],
  ['2592000', 'month'],
  ['0', 'none'],
] as const

export interface RotateDialogProps {
  readonly apiKey: Key
  readonly close: () => void
  readonly done: (made: NewKey) => void
}

/** A new secret for a key: programs change over while the old one still works. */
export function RotateDialog({ apiKey, close, done }: RotateDialogProps): ReactNode {
  const { t } = useTranslation()
  const [grace, setGrace] = useState<string>(GRACES[0][0])
  const rotate = useAct('POST /cabinet/v1/keys/:id/rotate', { renews: ['GET /cabinet/v1/keys'], done, quiet: true })
  return (
    <Dialog name="key-rotate" opened onClose={close} title={t('keys.rotate_title', { name: apiKey.name })}>
      <Stack>
        <Text size="sm">{t('keys.rotate_text')}</Text>
        <Select
          label={t('keys.grace')}
          allowDeselect={false}
          value={grace}
          onChange={(value) => value !== null && setGrace(value)}
          data={GRACES.map(([value, name]) => ({ value, label: t(`keys.grace_${name}`) }))}
        />
        {rotate.isError && <Failed failure={rotate.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
          <Button
            loading={rotate.isPending}
            onClick={() => rotate.mutate({ params: { id: apiKey.id }, body: { grace_seconds: Number(grace) } })}
          >
            {t('keys.rotate_act')}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
