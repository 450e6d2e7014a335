import { useState } from 'react'
import { useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { AddButton } from '../../parts/Dialog.tsx'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Section } from '../../parts/Page.tsx'
import { t } from '../../parts/words.ts'
import { KeyDialogs, KeyMenu, type Opened } from '../keys/KeysPage.tsx'
import { KeyPace, keyColumns } from '../keys/KeyUsage.tsx'

const KEYS_MAX = 1_000

/** The keys of an account, with what the operator may do about each. */
export function AccountKeys({ account }: { readonly account: string }) {
  const can = useCan()
  const [opened, open] = useState<Opened | null>(null)
  const keys = useRead('GET /admin/v1/accounts/:id/keys', { params: { id: account }, query: { limit: KEYS_MAX } })
  const { name, state, usage, used } = keyColumns()
  // Whoever makes a key, changes its terms or its secret can spend with it.
  const issues = can('POST /admin/v1/accounts/:id/keys')
  const may = { change: issues, rotate: issues, remove: can('DELETE /admin/v1/keys/:id') }
  return (
    <Section
      title={t('nav.keys')}
      actions={issues && <AddButton onClick={() => open({ dialog: 'new' })}>{t('keys.create')}</AddButton>}
    >
      <Loaded of={keys} height={240}>
        {({ data, total }) => (
          <>
            {total > data.length && <p>{t('keys.newest', { shown: data.length, total })}</p>}
            <DataList
              name="account-keys"
              label={t('nav.keys')}
              rows={data}
              empty={{ picture: 'key', title: t('keys.none') }}
              columns={[
                { ...name, under: (key) => <ExternalName of={key} /> },
                state,
                { ...usage, under: (key) => <KeyPace apiKey={key} /> },
                used,
                {
                  id: 'refused',
                  title: t('refused.today'),
                  as: 'count',
                  value: 'refused_today',
                  to: ({ id, refused_today: times }) =>
                    times === 0 ? null : { to: '/operator/refusals', search: { account, key: id } },
                },
                {
                  id: 'actions',
                  acts: (key) => [
                    <ExternalIdButton key="name" change="PATCH /admin/v1/keys/:id" of={key} name={key.name} />,
                    can('PATCH /admin/v1/keys/:id') && (
                      <KeyMenu key="menu" apiKey={key} open={open} may={may} account={account} />
                    ),
                  ],
                },
              ]}
            />
          </>
        )}
      </Loaded>
      <KeyDialogs opened={opened} open={open} account={account} />
    </Section>
  )
}
