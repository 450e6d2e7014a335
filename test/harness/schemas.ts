import { spawnSync } from 'node:child_process'
import { builtProgram } from './program.ts'

/** The check of test/shipped/schemas.go, which `.ci/run` builds; null = there is none. */
export const SCHEMAS = builtProgram(/^schemas-/)

/** What the schema of a kind has to say of files; nothing where they are right. */
export function schemaFindings(kind: 'dashboard' | 'compose' | 'monitor', ...files: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(SCHEMAS ?? '', [kind, ...files], {
    encoding: 'utf8',
    env: { TOLLGATE_KEK: 'k', TOLLGATE_ADMIN_TOKEN: 't', POSTGRES_PASSWORD: 'p' },
  })
  if (error !== undefined) throw error
  return status === 0 ? stderr : `${stdout}${stderr}`
}
