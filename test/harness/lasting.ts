import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

/**
 * Ends what is started after the tests of the file, or of the suite or test that starts it: what was started first ends
 * first. Not for a `before`, which counts as a test that ends. Outside tests the caller ends it.
 */
export function endsLater(end: () => unknown): void {
  if (process.env['NODE_TEST_CONTEXT'] !== undefined) after(end)
}

/** For what does not end itself so. */
export async function lasting<Started extends { stop(): unknown } | { close(): unknown } | null>(
  starting: Started | Promise<Started>,
): Promise<Started> {
  const started = await starting
  if (started !== null) endsLater(() => ('stop' in started ? started.stop() : started.close()))
  return started
}

/** An empty folder, deleted with the process, because a server in it may end last. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  if (folders.push(folder) === 1)
    process.once('exit', () => {
      for (const each of folders) rmSync(each, { recursive: true, force: true })
    })
  return folder
}

const folders: string[] = []
