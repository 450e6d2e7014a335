import { closeSync, openSync, readSync } from 'node:fs'
import type { ReadFile } from './config.ts'
import { thrownMessage } from '../base/text.ts'
import { diskFault } from '../store/sqlite/disk-fault.ts'

/** A file that is named by mistake may be of any size, and a device may have no end. */
const BYTES_MAX = 65_536

/** Reads the file of a secret to its end, whatever its size says: a pipe, such as that of `<(…)`, has none. */
export const readSecretFile: ReadFile = (path) => {
  try {
    const file = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(BYTES_MAX + 1)
      let length = 0
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = readSync(file, bytes, length, bytes.length - length, null)
      if (length > BYTES_MAX) return { problem: `has more than ${BYTES_MAX} bytes, which no secret has` }
      return { text: bytes.toString('utf8', 0, length) }
    } finally {
      closeSync(file)
    }
  } catch (thrown) {
    return { problem: `cannot be read: ${diskFault(thrown) ?? thrownMessage(thrown)}` }
  }
}
