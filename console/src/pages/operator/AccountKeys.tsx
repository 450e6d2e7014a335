import { Button, Group, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Key } from '../../../../src/api/admin/account-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { confirm } from '../../parts/confirm.tsx'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import css from '../../style/layout.module.css'
import { keyState, KeyState, KeyUsage } from '../keys/KeyUsage.tsx'
import { ShownOnce } from '../keys/ShownOnce.tsx'

const RENEWS = ['GET /admin/v1/accounts/:id/keys'] as const
const KEYS_MAX = 1_000

/** The keys of an account. An administrator can create, disable and delete them. */
export function AccountKeys({ accountId }: { readonly accountId: string }): ReactNode {
  const { t } = useTranslation()
  const [made, setMade] = useState<(Key & { readonly key: string }) | null>(null)
  const keys = useRead('GET /admin/v1/accounts/:id/keys', { params: { id: accountId }, query: { limit: KEYS_MAX } })
  const form = useForm({ initialValues: { name: '' } })
  const create = useAct('POST /admin/v1/accounts/:id/keys', {
    renews: RENEWS,
    done: (answer) => {
      form.reset()
      setMade(answer)
    },
  })
  return (
    <div className={css.page}>
      <Can call="POST /admin/v1/accounts/:id/keys">
        <form
          onSubmit={form.onSubmit(({ name }) =>
            create.mutate({ params: { id: accountId }, body: { name: name.trim() } }),
          )}
        >
          <Group align="flex-end">
            <TextInput label={t('keys.name')} required maxLength={100} {...form.getInputProps('name')} />
            <Button type="submit" loading={create.isPending}>
              {t('keys.create')}
            </Button>
          </Group>
        </form>
      </Can>
      <Loaded of={keys} height={240}>
        {({ data }) => <KeyList keys={data} />}
      </Loaded>
      <ShownOnce made={made} close={() => setMade(null)} />
    </div>
  )
}

function KeyList({ keys }: { readonly keys: readonly Key[] }): ReactNode {
  const { t } = useTranslation()
  const change = useAct('PATCH /admin/v1/keys/:id', { renews: RENEWS, said: t('common.saved') })
  const remove = useAct('DELETE /admin/v1/keys/:id', { renews: RENEWS, said: t('keys.deleted') })
  const ask = ({ id, name }: Key): void =>
    confirm({
      name: 'account-key-delete',
      title: t('keys.delete_title', { name }),
      text: t('keys.delete_text'),
      act: t('common.delete'),
      onConfirm: () => remove.mutate({ params: { id } }),
    })
  return (
    <DataList
      name="account-keys"
      label={t('nav.keys')}
      rows={keys}
      rowId={({ id }) => id}
      empty={{ picture: 'key', title: t('keys.none') }}
      columns={[
        {
          id: 'name',
          title: t('keys.name'),
          value: ({ name }) => name,
          cell: (key) => (
            <div>
              {key.name}
              <div className={css.mono}>{key.label}</div>
              <ExternalName of={key} />
            </div>
          ),
        },
        {
          id: 'state',
          title: t('keys.state'),
          value: (key) => t(`keys.${keyState(key)}`),
          cell: (key) => <KeyState apiKey={key} />,
        },
        {
          id: 'usage',
          title: t('keys.usage_limit'),
          wide: true,
          value: ({ usage }) => usage,
          cell: (key) => <KeyUsage apiKey={key} />,
        },
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
            <Can call="PATCH /admin/v1/keys/:id">
              <Group gap={4} justify="flex-end">
                <ExternalIdButton change="PATCH /admin/v1/keys/:id" of={key} name={key.name} />
                <Button
                  size="compact-sm"
                  variant="subtle"
                  onClick={() => change.mutate({ params: { id: key.id }, body: { disabled: !key.disabled } })}
                >
                  {key.disabled ? t('keys.enable') : t('keys.disable')}
                </Button>
                <Button size="compact-sm" variant="subtle" color="red" onClick={() => ask(key)}>
                  {t('common.delete')}
                </Button>
              </Group>
            </Can>
          ),
        },
      ]}
    />
  )
}
