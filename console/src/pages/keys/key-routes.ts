import type { Key } from '../../../../src/api/cabinet/key-contract.ts'

/** What the keys of the own account and those of another one for the operator have in common. */
export type AnyKey = Omit<Key, 'limit_resets_at' | 'made_by' | 'own'>

/** The endpoints for the keys of the own account, or of another one for the operator. */
export function keyRoutes(account: string | undefined) {
  const isOwn = account === undefined
  const one = isOwn ? '/cabinet/v1/keys/:id' : '/admin/v1/keys/:id'
  return {
    renews: isOwn
      ? (['GET /cabinet/v1/keys', 'GET /cabinet/v1/summary'] as const)
      : (['GET /admin/v1/accounts/:id/keys'] as const),
    ofAll: isOwn ? {} : { params: { id: account } },
    // Both routes have the same input, and an answer with these fields.
    create: (isOwn ? 'POST /cabinet/v1/keys' : 'POST /admin/v1/accounts/:id/keys') as 'POST /cabinet/v1/keys',
    change: `PATCH ${one}` as 'PATCH /cabinet/v1/keys/:id',
    rotate: `POST ${one}/rotate` as 'POST /cabinet/v1/keys/:id/rotate',
    remove: `DELETE ${one}` as 'DELETE /cabinet/v1/keys/:id',
  }
}
