import { KeyWrap } from '../../src/ledger/seal.ts'

/** The wrapping key of stores that a test opens itself. */
export const KEY_WRAP = new KeyWrap([Buffer.alloc(32, 7)])
