import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrationChecksums } from './migrations.ts'

/** Stores have them: one that changes later would keep those stores from starting. A new migration adds a line. */
const LANDED = {
  sqlite: [
    '1 ce45b2533793',
    '2 cc029412eca7',
    '3 5b6938ce31ef',
    '4 e3b0c44298fc',
    '5 66f556226f76',
    '6 033fef96ba67',
    '7 3d7b38579c70',
    '8 186c3bd6a6b4',
    '9 da0bc4cf3590',
    '10 81413862a8d3',
    '11 ece2bbe72aab',
    '12 189aa95236f4',
    '13 1af22eb40bf9',
    '14 e20c16b6f576',
    '15 b580e0eb0e02',
    '16 fb9794ab8c55',
    '17 e3b0c44298fc',
    '18 236750612139',
    '19 8604b6b1f5fd',
    '20 d29b133d7291',
    '21 dd91ebf66ea3',
    '22 273b9e8e93af',
    '23 61ee2dd414ea',
    '24 e3b0c44298fc',
    '25 aae5261081e3',
    '26 deb7ce351c18',
    '27 5a2cb55dff69',
    '28 5e4343d92298',
    '29 b1aef5f3d3af',
  ],
  postgres: [
    '1 6825d4763e83',
    '2 f696e3cef5ad',
    '3 a7d2d4c3d6a6',
    '4 c6d4af380c4a',
    '5 ab0489a59b00',
    '6 ef026e300d3b',
    '7 1ff28c650e8b',
    '8 186c3bd6a6b4',
    '9 da0bc4cf3590',
    '10 57c730b2124c',
    '11 f0ac2a186dff',
    '12 189aa95236f4',
    '13 1af22eb40bf9',
    '14 e20c16b6f576',
    '15 1a5daad069b2',
    '16 fcb6ee4a052f',
    '17 78c78945e14f',
    '18 236750612139',
    '19 e3b0c44298fc',
    '20 a0c306e03ac1',
    '21 dd91ebf66ea3',
    '22 01688556bacd',
    '23 61ee2dd414ea',
    '24 e3b0c44298fc',
    '25 aae5261081e3',
    '26 d4074a80c200',
    '27 051b9be4bd3c',
    '28 d76d80bda631',
    '29 5c8a79a19a37',
  ],
} as const

for (const dialect of ['sqlite', 'postgres'] as const)
  test(`${dialect}: a migration never changes once stores have it`, () => {
    assert.deepEqual(migrationChecksums(dialect), LANDED[dialect])
  })
