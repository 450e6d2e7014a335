import { ActionIcon, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ManagementKey, NewManagementKey } from '../../../../src/api/cabinet/key-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { CopyBlock } from '../../parts/Copy.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { confirm } from '../../parts/confirm.tsx'
import { PlusIcon, TrashIcon } from '../../parts/icons.ts'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { Section } from '../../parts/Section.tsx'
import { KeyName } from './KeyUsage.tsx'

const RENEWS = ['GET /cabinet/v1/management-keys'] as const

/** Keys for programs that make and change the account's API keys. */
export function ManagementKeys(): ReactNode {
  const { t } = useTranslation()
  const keys = useRead('GET /cabinet/v1/management-keys', {})
  const [making, setMaking] = useState(false)
  return (
    <Section
      title={t('keys.management')}
      lead={t('keys.management_lead')}
      actions={
        <Button variant="default" leftSection={<PlusIcon size={17} />} onClick={() => setMaking(true)}>
          {t('keys.management_create')}
        </Button>
      }
    >
      <Loaded of={keys} height={120}>
        {({ data }) => <ManagementKeyList keys={data} />}
      </Loaded>
      <Dialog
        name="management-key"
        opened={making}
        onClose={() => setMaking(false)}
        title={t('keys.management_create')}
      >
        {making && <ManagementKeyForm close={() => setMaking(false)} />}
      </Dialog>
    </Section>
  )
}

function ManagementKeyList({ keys }: { readonly keys: readonly ManagementKey[] }): ReactNode {
  const { t } = useTranslation()
  const remove = useAct('DELETE /cabinet/v1/management-keys/:id', { renews: RENEWS, said: t('keys.deleted') })
  const ask = ({ id, name }: ManagementKey): void =>
    confirm({
      name: 'management-key-delete',
      title: t('keys.delete_title', { name }),
      text: t('keys.management_delete_text'),
      act: t('common.delete'),
      onConfirm: () => remove.mutate({ params: { id } }),
    })
  return (
    <DataList
      name="management-keys"
      prefix="management-"
      label={t('keys.management')}
      rows={keys}
      rowId={({ id }) => id}
      empty={{ picture: 'key', title: t('keys.none') }}
      columns={[
        { id: 'name', title: t('keys.name'), value: ({ name }) => name, cell: (key) => <KeyName apiKey={key} /> },
        {
          id: 'used',
          title: t('keys.last_used'),
          end: true,
          value: (key) => key.last_used_at,
          cell: ({ last_used_at: used }) => (used === null ? t('keys.never') : <Moment at={used} as="ago" />),
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: (key) => (
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={t('keys.management_delete', { name: key.name })}
              onClick={() => ask(key)}
            >
              <TrashIcon size={16} />
            </ActionIcon>
          ),
        },
      ]}
    />
  )
}

/** Asks for a name, then shows the key, this once. */
function ManagementKeyForm({ close }: { readonly close: () => void }): ReactNode {
  const { t } = useTranslation()
  const [name, setName] = useState('')
  const [made, setMade] = useState<NewManagementKey | null>(null)
  const create = useAct('POST /cabinet/v1/management-keys', { renews: RENEWS, done: setMade })
  if (made !== null)
    return (
      <Stack>
        <Text size="sm">{t('keys.shown_once')}</Text>
        <CopyBlock text={made.key} label={t('keys.key')} />
        <Group justify="flex-end">
          <Button onClick={close}>{t('keys.kept')}</Button>
        </Group>
      </Stack>
    )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate({ body: { name: name.trim() } })
      }}
    >
      <Stack>
        <TextInput
          label={t('keys.name')}
          required
          maxLength={100}
          data-autofocus
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending} disabled={name.trim() === ''}>
            {t('keys.management_create')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
