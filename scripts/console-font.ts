import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import subsetFont from 'subset-font'

/** `npm run console:font`: makes the part of Inter that the console ships. Run it after a change of `inter-ui`. */
const OUT = join(import.meta.dirname, '../console/src/fonts/inter.woff2')
const SOURCE = createRequire(import.meta.url).resolve('inter-ui/variable/InterVariable.woff2')
/** English, Russian and the names of most European people; other letters are drawn with the system's typeface. */
const CHARACTERS = [
  between(0x20, 0x7e),
  between(0xa0, 0xff),
  between(0x410, 0x44f),
  'ЁёІіЇїЄєҐґ',
  // Spaces: as wide as a digit, thin, non-breaking; hyphens, dashes and quotation marks; signs of the texts.
  '\u2007\u2009\u202f\u2011–—‘’“”„•…‰−×≈≤≥→←↑↓₽€№',
].join('')

const font = await subsetFont(readFileSync(SOURCE), CHARACTERS, {
  targetFormat: 'woff2',
  variationAxes: { wght: { min: 400, max: 700 }, opsz: 14 },
  // Kerning, and digits of one width.
  keepFeatures: ['kern', 'tnum'],
  noHinting: true,
})
writeFileSync(OUT, font)
process.stdout.write(`${OUT}: ${font.length} bytes\n`)

function between(first: number, last: number): string {
  return Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index)).join('')
}
