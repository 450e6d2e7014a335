import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder that only its owner may use, and the folders above it. Node's own `recursive` never ends below a path
 * where the system allows no folders, such as `/proc`.
 */
export function makeFolder(path: string): void {
  if (isFolder(path)) return
  const above = dirname(path)
  if (above !== path && !existsSync(above)) makeFolder(above)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (thrown) {
    // Another process may have made the folder.
    if (!isFolder(path)) throw thrown
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
