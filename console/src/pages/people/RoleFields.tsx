import '@mantine/core/styles/Radio.css'
import { Radio, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { MEMBER_ROLES } from '../../../../src/tables/member-scopes.ts'
import type { MemberRole } from '../../../../src/api/cabinet/session-contract.ts'
import { NumberField } from '../../parts/NumberField.tsx'

export interface RoleChoice {
  readonly role: MemberRole
  /** RUB as typed; empty = no limit. */
  readonly limit: string
}

/** What a person may do, and for a member how much their keys may spend. */
export function RoleFields({
  choice,
  change,
}: {
  readonly choice: RoleChoice
  readonly change: (choice: RoleChoice) => void
}): ReactNode {
  const { t } = useTranslation()
  return (
    <>
      <Radio.Group
        label={t('people.role')}
        value={choice.role}
        onChange={(value) => {
          const role = MEMBER_ROLES.find((known) => known === value)
          if (role !== undefined) change({ ...choice, role })
        }}
      >
        <Stack gap="xs" mt={6}>
          {MEMBER_ROLES.map((role) => (
            <Radio key={role} value={role} label={t(`people.${role}`)} description={t(`people.${role}_text`)} />
          ))}
        </Stack>
      </Radio.Group>
      {choice.role === 'member' && (
        <NumberField
          label={t('people.limit')}
          description={t('people.limit_hint')}
          unit="₽"
          decimals={6}
          least={0}
          value={choice.limit}
          onChange={(limit) => change({ ...choice, limit })}
        />
      )}
    </>
  )
}

/** The limit of a body. */
export function limitOf({ role, limit }: RoleChoice): number | null {
  return role !== 'member' || limit.trim() === '' ? null : Number(limit)
}
