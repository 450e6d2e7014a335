import { Select } from '@mantine/core'
import {
  type AdminScope,
  covers,
  OPERATOR_ROLES,
  type OperatorRole,
  ROLE_SCOPES,
} from '../../../../../src/tables/scopes.ts'
import { t } from '../../../parts/words.ts'
import { useProfile } from '../../../session.tsx'
import css from './tokens.module.css'

/** What a token may do: the name of a role with exactly these scopes, or else the scopes. */
export function ScopeNames({ scopes }: { readonly scopes: readonly AdminScope[] }) {
  const role = roleOf(scopes)
  if (role !== null) return t(`role.${role}`)
  return (
    <span className={css.scopes}>
      {areasOf(scopes).map(({ area, kinds }) => (
        <span key={area} className={css.scope}>
          {t(`scope.${area}`)}
          {kinds
            .filter((kind) => kind !== 'read')
            .map((kind) => (
              <b key={kind} className="warned">
                {t(`tokens.${kind}`)}
              </b>
            ))}
        </span>
      ))}
    </span>
  )
}

function roleOf(scopes: readonly AdminScope[]): OperatorRole | null {
  const given = new Set(scopes)
  return (
    OPERATOR_ROLES.find((role) => ROLE_SCOPES[role].size === given.size && covers(given, ROLE_SCOPES[role])) ?? null
  )
}

type ScopeArea = AdminScope extends `${infer Area}:${string}` ? Area : never
/** In the order in which they are shown. */
const KINDS = ['read', 'write', 'issue'] as const
type ScopeKind = (typeof KINDS)[number]

/** Each area once, with its kinds of access. */
export function areasOf(
  scopes: Iterable<AdminScope>,
): readonly { readonly area: ScopeArea; readonly kinds: readonly ScopeKind[] }[] {
  const areas = new Map<ScopeArea, ReadonlySet<ScopeKind>>()
  for (const scope of scopes) {
    // A scope is an area and a kind.
    const [area, kind] = scope.split(':') as [ScopeArea, ScopeKind]
    areas.set(area, new Set([...(areas.get(area) ?? []), kind]))
  }
  return [...areas].map(([area, kinds]) => ({ area, kinds: KINDS.filter((kind) => kinds.has(kind)) }))
}

/** The roles that the signed-in operator may assign: none with more rights than their own. */
export function useRoles(): readonly OperatorRole[] {
  const own = new Set(useProfile().scopes)
  return OPERATOR_ROLES.filter((role) => covers(own, ROLE_SCOPES[role]))
}

interface RoleFieldProps {
  readonly value: OperatorRole
  readonly change: (role: OperatorRole) => void
}

/** A field for a role that the operator may assign. */
export function RoleField({ value, change }: RoleFieldProps) {
  const roles = useRoles()
  return (
    <Select
      label={t('settings.role')}
      value={value}
      onChange={(chosen) => {
        const role = roles.find((known) => known === chosen)
        if (role !== undefined) change(role)
      }}
      data={roles.map((role) => ({ value: role, label: t(`role.${role}`) }))}
    />
  )
}
