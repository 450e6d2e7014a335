import assert from 'node:assert/strict'
import type { Answer, ApiClient } from './api-client.ts'

/** `tollgate audit` of a running server, as every server is audited when a test stops it: fails with each violation. */
export async function auditClean(server: ApiClient): Promise<void> {
  const audit = await reportOf(server)
  if (audit === null) return
  assert.equal(audit.status, 200, `the audit could not run: ${audit.text}`)
  assert.equal(audit.body.violations, 0, audit.text)
}

/** null = it no longer listens. */
async function reportOf(server: ApiClient): Promise<Answer | null> {
  try {
    return await server.admin('GET', '/admin/v1/audit')
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ECONNREFUSED') return null
    throw thrown
  }
}
