import { TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Key } from '../../../../src/api/admin/account-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { confirm } from '../../parts/Dialog.tsx'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { useWords } from '../../parts/words.ts'
import { useKeyColumns } from '../keys/KeyUsage.tsx'
import { ShownOnce } from '../keys/ShownOnce.tsx'

const RENEWS = ['GET /admin/v1/accounts/:id/keys'] as const
const KEYS_MAX = 1_000

/** The keys of an account. An administrator can create, disable and delete them. */
export function AccountKeys({ accountId }: { readonly accountId: string }): ReactNode {
  const { t } = useWords()
  const [made, setMade] = useState<(Key & { readonly key: string }) | null>(null)
  const params = { id: accountId }
  const keys = useRead('GET /admin/v1/accounts/:id/keys', { params, query: { limit: KEYS_MAX } })
  const form = useCall('POST /admin/v1/accounts/:id/keys', {
    renews: RENEWS,
    done: (answer, reset) => {
      reset()
      setMade(answer)
    },
    first: { name: '' },
    input: ({ name }) => ({ params, body: { name: name.trim() } }),
  })
  return (
    <div className="page">
      <Can call="POST /admin/v1/accounts/:id/keys">
        <Form of={form} form="row" act={t('keys.create')}>
          <TextInput label={t('keys.name')} required maxLength={100} {...form.field('name')} />
        </Form>
      </Can>
      <Loaded of={keys} height={240}>
        {({ data, total }) => (
          <>
            {total > data.length && <p>{t('keys.newest', { shown: data.length, total })}</p>}
            <KeyList keys={data} />
          </>
        )}
      </Loaded>
      <ShownOnce made={made} close={() => setMade(null)} />
    </div>
  )
}

function KeyList({ keys }: { readonly keys: readonly Key[] }): ReactNode {
  const { t } = useWords()
  const can = useCan()
  const { name: named, state, usage, used } = useKeyColumns()
  const change = useAct('PATCH /admin/v1/keys/:id', { renews: RENEWS, said: t('common.saved') })
  const remove = useAct('DELETE /admin/v1/keys/:id', { renews: RENEWS, said: t('keys.deleted') })
  const ask = ({ id, name }: Key): void =>
    confirm({
      name: 'account-key-delete',
      title: t('keys.delete_title', { name }),
      text: t('keys.delete_text'),
      onConfirm: () => remove.mutate({ params: { id } }),
    })
  return (
    <DataList
      name="account-keys"
      label={t('nav.keys')}
      rows={keys}
      empty={{ picture: 'key', title: t('keys.none') }}
      columns={[
        { ...named, under: (key) => <ExternalName of={key} /> },
        state,
        usage,
        used,
        {
          id: 'actions',
          acts: (key) => [
            <ExternalIdButton key="name" change="PATCH /admin/v1/keys/:id" of={key} name={key.name} />,
            can('PATCH /admin/v1/keys/:id') && {
              label: key.disabled ? t('keys.enable') : t('keys.disable'),
              run: () => change.mutate({ params: { id: key.id }, body: { disabled: !key.disabled } }),
            },
            can('DELETE /admin/v1/keys/:id') && { label: t('common.delete'), harmful: true, run: () => ask(key) },
          ],
        },
      ]}
    />
  )
}
