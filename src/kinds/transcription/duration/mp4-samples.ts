import type { Packets } from './aac-packets.ts'

/** More than any honest file has. */
const SAMPLES_MAX = 1_000_000

/** The tables of a track that place its samples: each with the bytes of its box, empty = none. */
export interface SampleTables {
  sizes: Buffer
  isCompact: boolean
  chunks: Buffer
  isLong: boolean
  runs: Buffer
}

/** Samples that are found, and the count and the bytes of those that no table places. */
export interface FoundSamples extends Packets {
  readonly starts: number[]
  readonly ends: number[]
  unplaced: number
  unplacedBytes: number
}

export interface SampleSizes {
  readonly count: number
  /** All are as large as the first. */
  readonly isSame: boolean
  at(index: number): number
}

export function foundSamples(): FoundSamples {
  return { starts: [], ends: [], unplaced: 0, unplacedBytes: 0 }
}

/** The sizes of `stsz` or `stz2`; never more than the table lists. */
export function sampleSizes({ sizes, isCompact }: SampleTables): SampleSizes {
  const told = wordAt(sizes, 8)
  const same = isCompact ? 0 : wordAt(sizes, 4)
  if (same > 0) return { count: told, isSame: true, at: () => same }
  const bits = isCompact ? (sizes[7] ?? 0) : 32
  if (bits !== 4 && bits !== 8 && bits !== 16 && bits !== 32) return { count: 0, isSame: true, at: () => 0 }
  const count = Math.min(told, Math.floor((Math.max(0, sizes.length - 12) * 8) / bits))
  return {
    count,
    isSame: false,
    at: (index) => {
      const at = 12 + ((index * bits) >> 3)
      return bits === 4 ? ((sizes[at] ?? 0) >> (index % 2 === 0 ? 4 : 0)) & 15 : sizes.readUIntBE(at, bits / 8)
    },
  }
}

/** Where the samples lie, chunk by chunk; null where they are more than there can be. */
export function placeSamples(tables: SampleTables, fileBytes: number): FoundSamples | null {
  const sizes = sampleSizes(tables)
  const found = foundSamples()
  if (sizes.count > SAMPLES_MAX) return null
  const stride = tables.isLong ? 8 : 4
  const chunks = Math.min(wordAt(tables.chunks, 4), Math.floor(Math.max(0, tables.chunks.length - 8) / stride))
  const runs = Math.min(wordAt(tables.runs, 4), Math.floor(Math.max(0, tables.runs.length - 8) / 12))
  let sample = 0
  for (let chunk = 0, run = 0; chunk < chunks && runs > 0 && sample < sizes.count; chunk += 1) {
    while (run + 1 < runs && chunk + 1 >= wordAt(tables.runs, 8 + 12 * (run + 1))) run += 1
    const at = 8 + chunk * stride
    const start = tables.isLong ? Number(tables.chunks.readBigUInt64BE(at)) : tables.chunks.readUInt32BE(at)
    const last = Math.min(sizes.count, sample + wordAt(tables.runs, 8 + 12 * run + 4))
    addRun(found, { first: sample, last, start, fileBytes }, sizes)
    sample = last
  }
  for (; sample < sizes.count; sample += 1) addUnplaced(found, 1, sizes.at(sample))
  return found
}

/** Samples that stand one behind the other; what lies behind the end of the file is not there. */
export function addRun(
  found: FoundSamples,
  { first, last, start, fileBytes }: { first: number; last: number; start: number; fileBytes: number },
  sizes: SampleSizes,
): void {
  for (let index = first, at = start; index < last && at < fileBytes; index += 1) {
    const size = sizes.at(index)
    if (found.starts.length >= SAMPLES_MAX) return addUnplaced(found, Infinity, Infinity)
    // When all samples are empty, the run has no sound.
    if (size === 0 && sizes.isSame) return
    found.starts.push(at)
    found.ends.push(Math.min(fileBytes, at + size))
    at += size
  }
}

export function addUnplaced(found: FoundSamples, count: number, size: number): void {
  found.unplaced += count
  found.unplacedBytes += size
}

/** The most samples that the chunks count together; decoders of plain sound use this count. */
export function chunkSamples({ chunks, runs }: SampleTables): number {
  let most = 0
  for (let at = 8; at + 12 <= runs.length; at += 12) most = Math.max(most, runs.readUInt32BE(at + 4))
  return wordAt(chunks, 4) * most
}

export function wordAt(content: Buffer, at: number): number {
  return at + 4 <= content.length ? content.readUInt32BE(at) : 0
}
