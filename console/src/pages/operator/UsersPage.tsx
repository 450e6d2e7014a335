import { TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { OperatorRole } from '../../../../src/tables/admin-scopes.ts'
import { Can } from '../../parts/Can.tsx'
import { Filters } from '../../parts/Filters.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { Section } from '../../parts/Page.tsx'
import type { Search } from '../../parts/list-place.ts'
import { useWords } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'
import { LinkShown, UserList } from './UserList.tsx'
import { RoleField, useRoles } from './tokens/ScopeNames.tsx'

const ROLES = ['admin', 'user'] as const

/** Everybody who may sign in, and new administrators. */
export function UsersPage(): ReactNode {
  const { t } = useWords()
  return (
    <OperatorPage title={t('nav.users')} lead={t('users.lead')}>
      <Can call="POST /admin/v1/administrators">
        <Section boxed title={t('users.invite')} lead={t('users.invite_lead')}>
          <InviteForm />
        </Section>
      </Can>
      <Filters
        of={[
          { name: 'query', label: t('users.by_email') },
          {
            name: 'role',
            label: t('settings.role'),
            data: ROLES.map((value) => ({ value, label: t(`settings.role_${value}`) })),
          },
        ]}
      />
      <UserList filter={(search) => ({ query: search['query'], role: roleOf(search) })} />
    </OperatorPage>
  )
}

function roleOf({ role }: Search): (typeof ROLES)[number] | undefined {
  return ROLES.find((known) => known === role)
}

function InviteForm(): ReactNode {
  const { t } = useWords()
  const [link, setLink] = useState<{ readonly email: string; readonly link: string } | null>(null)
  const roles = useRoles()
  const first: { email: string; role: OperatorRole } = { email: '', role: roles.at(-1) ?? 'read_only' }
  const form = useCall('POST /admin/v1/administrators', {
    renews: ['GET /admin/v1/users'],
    done: (answer, reset) => {
      reset()
      setLink(answer)
    },
    first,
    input: (body) => ({ body }),
  })
  return (
    <>
      <Form of={form} form="row" act={t('users.invite_button')}>
        <TextInput label={t('entry.email')} type="email" required {...form.field('email')} />
        <RoleField value={form.values.role} change={(role) => form.set({ role })} />
      </Form>
      <div className="small">{t(`role.${form.values.role}_text`)}</div>
      <LinkShown shown={link} close={() => setLink(null)} />
    </>
  )
}
