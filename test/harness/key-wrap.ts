import { KeyWrap } from '../../src/ledger/key-wrap.ts'

const KEY = Buffer.alloc(32, 7)

/** The wrapping key of stores that a test opens itself. */
export const KEY_WRAP = new KeyWrap([KEY])
/** The same as a setting, for a server whose store a test opens too. */
export const KEK_SETTING = { TOLLGATE_KEK: KEY.toString('base64') }
