import { Button, Checkbox, Group, Select, Stack, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ROLE_SCOPES, type AdminScope, type OperatorRole } from '../../../../../src/tables/admin-scopes.ts'
import { useAct } from '../../../api/hooks.ts'
import { DayField } from '../../../parts/DayField.tsx'
import { today } from '../../../parts/day-range.ts'
import { Failed } from '../../../parts/Loaded.tsx'
import { useFormat } from '../../../parts/use-format.ts'
import { endOfDay } from '../../../parts/zoned-day.ts'
import { useProfile } from '../../../session.tsx'
import { useRoles } from './RoleField.tsx'
import { areasOf } from './ScopeNames.tsx'
import css from './tokens.module.css'

const OWN = 'own'

/** A new token: its name, what it may do, and its last day. */
export function TokenForm({
  done,
}: {
  readonly done: (made: { readonly name: string; readonly token: string }) => void
}): ReactNode {
  const { t } = useTranslation()
  const { zone } = useFormat()
  const roles = useRoles()
  const [name, setName] = useState('')
  const [role, setRole] = useState<OperatorRole | typeof OWN>('read_only')
  const [scopes, setScopes] = useState<ReadonlySet<AdminScope>>(ROLE_SCOPES.read_only)
  const [expires, setExpires] = useState('')
  const create = useAct('POST /admin/v1/tokens', { quiet: true, renews: ['GET /admin/v1/tokens'], done })
  const choose = (chosen: string | null): void => {
    const known = roles.find((each) => each === chosen)
    setRole(known ?? OWN)
    if (known !== undefined) setScopes(ROLE_SCOPES[known])
  }
  const toggle = (scope: AdminScope): void => {
    setRole(OWN)
    setScopes(new Set(scopes.has(scope) ? [...scopes].filter((each) => each !== scope) : [...scopes, scope]))
  }
  const end = endOfDay(expires, zone)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate({
          body: {
            name: name.trim(),
            ...(role === OWN ? { scopes: [...scopes] } : { role }),
            ...(end === null ? {} : { expires_at: end.toISOString() }),
          },
        })
      }}
    >
      <Stack>
        {create.isError && <Failed failure={create.error} />}
        <Group grow align="flex-start">
          <TextInput
            label={t('keys.name')}
            description={t('tokens.name_hint')}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            required
            maxLength={64}
            data-autofocus
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value.toLowerCase())}
          />
          <DayField label={t('keys.expiry')} value={expires} min={today()} onChange={setExpires} />
        </Group>
        <Select
          label={t('tokens.may')}
          allowDeselect={false}
          value={role}
          onChange={choose}
          data={[
            ...roles.map((each) => ({ value: each as string, label: t(`role.${each}`) })),
            { value: OWN, label: t('tokens.own') },
          ]}
        />
        <ScopeBoxes scopes={scopes} toggle={toggle} />
        <Button ml="auto" type="submit" loading={create.isPending} disabled={name.trim() === '' || scopes.size === 0}>
          {t('tokens.create')}
        </Button>
      </Stack>
    </form>
  )
}

/** A box for each scope that the signed-in operator has. */
function ScopeBoxes({
  scopes,
  toggle,
}: {
  readonly scopes: ReadonlySet<AdminScope>
  readonly toggle: (scope: AdminScope) => void
}): ReactNode {
  const { t } = useTranslation()
  const { scopes: grantable } = useProfile()
  return (
    <fieldset className={css.areas}>
      <legend className={css.legend}>{t('tokens.scopes')}</legend>
      {areasOf(grantable).map(({ area, read, write }) => (
        <div key={area} className={css.area}>
          <span>{t(`scope.${area}`)}</span>
          {read && (
            <Checkbox
              size="xs"
              label={t('tokens.read')}
              aria-label={`${t(`scope.${area}`)}: ${t('tokens.read')}`}
              checked={scopes.has(`${area}:read` as AdminScope)}
              onChange={() => toggle(`${area}:read` as AdminScope)}
            />
          )}
          {write && (
            <Checkbox
              size="xs"
              label={t('tokens.write')}
              aria-label={`${t(`scope.${area}`)}: ${t('tokens.write')}`}
              checked={scopes.has(`${area}:write` as AdminScope)}
              onChange={() => toggle(`${area}:write` as AdminScope)}
            />
          )}
        </div>
      ))}
    </fieldset>
  )
}
