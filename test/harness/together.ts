import { join, relative } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { meter } from './cpu-meter.ts'

const ROOT = join(import.meta.dirname, '../..')

/**
 * Runs test files one after another in this process, each as a suite with the file's name, its tests and its hooks. A
 * file that cannot be loaded is a failed test, and the others still run.
 */
export async function runTogether(files: readonly string[]): Promise<void> {
  for (const file of files) {
    meter(file)
    const name = relative(ROOT, file)
    await describe(name, async () => {
      try {
        await import(pathToFileURL(file).href)
      } catch (thrown) {
        void test(`${name} cannot be loaded`, () => {
          throw thrown
        })
      }
    })
  }
}
