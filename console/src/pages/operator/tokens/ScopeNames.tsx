import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import {
  covers,
  OPERATOR_ROLES,
  ROLE_SCOPES,
  type AdminScope,
  type OperatorRole,
} from '../../../../../src/tables/admin-scopes.ts'
import css from './tokens.module.css'

/** What a token may do: the name of a role with exactly these scopes, else the scopes. */
export function ScopeNames({ scopes }: { readonly scopes: readonly AdminScope[] }): ReactNode {
  const { t } = useTranslation()
  const role = roleOf(scopes)
  if (role !== null) return t(`role.${role}`)
  return (
    <span className={css.scopes}>
      {areasOf(scopes).map(({ area, write }) => (
        <span key={area} className={css.scope}>
          {t(`scope.${area}`)}
          {write && <span className={css.write}>{t('tokens.write')}</span>}
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

export type ScopeArea = AdminScope extends `${infer Area}:${string}` ? Area : never

/** Each area once, with whether it may be changed. */
export function areasOf(
  scopes: Iterable<AdminScope>,
): readonly { readonly area: ScopeArea; readonly read: boolean; readonly write: boolean }[] {
  const areas = new Map<ScopeArea, { read: boolean; write: boolean }>()
  for (const scope of scopes) {
    // A scope is `area:read` or `area:write`.
    const [area, kind] = scope.split(':') as [ScopeArea, 'read' | 'write']
    const known = areas.get(area) ?? { read: false, write: false }
    areas.set(area, { ...known, [kind]: true })
  }
  return [...areas].map(([area, kinds]) => ({ area, ...kinds }))
}
