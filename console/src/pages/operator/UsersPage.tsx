import { Button, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { OperatorRole } from '../../../../src/tables/admin-scopes.ts'
import { useAct } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { ChoiceField } from '../../parts/ChoiceField.tsx'
import { useFilters, useTyped } from '../../parts/list-place.ts'
import { Section } from '../../parts/Section.tsx'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'
import { RoleField, useRoles } from './tokens/RoleField.tsx'
import { LinkShown, UserList } from './UserList.tsx'

const ROLES = ['admin', 'user'] as const

/** Everybody who may sign in, and new administrators. */
export function UsersPage(): ReactNode {
  const { t } = useTranslation()
  const { filters, filter } = useFilters<'query' | 'role'>()
  const [text, setText] = useTyped(filters.query ?? '', (value) => filter('query', value))
  const role = ROLES.find((known) => known === filters.role) ?? null
  return (
    <OperatorPage title={t('nav.users')} lead={t('users.lead')}>
      <Can call="POST /admin/v1/administrators">
        <Section boxed title={t('users.invite')} lead={t('users.invite_lead')}>
          <InviteForm />
        </Section>
      </Can>
      <div className={css.fields}>
        <TextInput
          type="search"
          label={t('users.by_email')}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <ChoiceField
          label={t('settings.role')}
          value={role}
          onChange={(value) => filter('role', value)}
          data={ROLES.map((value) => ({ value, label: t(`settings.role_${value}`) }))}
        />
      </div>
      <UserList
        {...(filters.query === undefined ? {} : { query: filters.query })}
        {...(role === null ? {} : { role })}
      />
    </OperatorPage>
  )
}

function InviteForm(): ReactNode {
  const { t } = useTranslation()
  const [link, setLink] = useState<{ readonly email: string; readonly link: string } | null>(null)
  const roles = useRoles()
  const form = useForm<{ email: string; role: OperatorRole }>({
    initialValues: { email: '', role: roles.at(-1) ?? 'read_only' },
  })
  const invite = useAct('POST /admin/v1/administrators', {
    renews: ['GET /admin/v1/users'],
    done: (answer) => {
      form.reset()
      setLink(answer)
    },
  })
  return (
    <form onSubmit={form.onSubmit((body) => invite.mutate({ body }))}>
      <div className={css.fields}>
        <TextInput label={t('entry.email')} type="email" required {...form.getInputProps('email')} />
        <RoleField value={form.values.role} change={(role) => form.setFieldValue('role', role)} />
        <Button type="submit" loading={invite.isPending}>
          {t('users.invite_button')}
        </Button>
      </div>
      <Text size="sm" c="dimmed" mt="xs">
        {t(`role.${form.values.role}_text`)}
      </Text>
      <LinkShown shown={link} close={() => setLink(null)} />
    </form>
  )
}
