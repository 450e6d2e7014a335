import { Select } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { covers, OPERATOR_ROLES, ROLE_SCOPES, type OperatorRole } from '../../../../../src/tables/admin-scopes.ts'
import { useProfile } from '../../../session.tsx'

/** The roles that the signed-in operator may give: none that may do more than they. */
export function useRoles(): readonly OperatorRole[] {
  const own = new Set(useProfile().scopes)
  return OPERATOR_ROLES.filter((role) => covers(own, ROLE_SCOPES[role]))
}

/** A role that the operator may give. */
export function RoleField({
  value,
  change,
}: {
  readonly value: OperatorRole
  readonly change: (role: OperatorRole) => void
}): ReactNode {
  const { t } = useTranslation()
  const roles = useRoles()
  return (
    <Select
      label={t('settings.role')}
      allowDeselect={false}
      value={value}
      onChange={(chosen) => {
        const role = roles.find((known) => known === chosen)
        if (role !== undefined) change(role)
      }}
      data={roles.map((role) => ({ value: role, label: t(`role.${role}`) }))}
    />
  )
}
