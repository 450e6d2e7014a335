/** One stretch of speech; seconds from the beginning. */
export interface TranscriptSegment {
  readonly start: number
  readonly end: number
  readonly text: string
  /** Who speaks; absent = the provider does not say. */
  readonly speaker?: string
  /**
   * Whisper's own figures where the provider has them: seek, tokens, temperature, avg_logprob, compression_ratio,
   * no_speech_prob.
   */
  readonly figures: Readonly<Record<string, number | readonly number[]>>
}

export interface TranscriptWord {
  readonly word: string
  readonly start: number
  readonly end: number
  readonly speaker?: string
}

/** The result of a provider. */
export interface Transcript {
  readonly text: string
  /** The provider's name of the language; null = it gives none. */
  readonly language: string | null
  /** In the order of time; empty if the provider gives no times. */
  readonly segments: readonly TranscriptSegment[]
  readonly words: readonly TranscriptWord[]
  /** The probabilities of its tokens, in OpenAI's form; absent = the provider gives none. */
  readonly logprobs?: readonly unknown[]
}

const SENTENCE_END = /[.!?…。！？]["'”’»)]*$/
const SEGMENT_SECONDS_MAX = 8
const PAUSE_SECONDS = 1.2

/**
 * The transcript's segments. If it has only words, they are cut into segments at sentences, pauses, changes of speaker
 * and readable lengths. If it has neither, the whole text is one segment over the whole `duration`.
 */
export function segmentsOf({ text, segments, words }: Transcript, duration: number): readonly TranscriptSegment[] {
  if (segments.length > 0) return segments
  if (words.length === 0) return text.trim() === '' ? [] : [{ start: 0, end: duration, text, figures: {} }]
  const made: TranscriptSegment[] = []
  let open: TranscriptWord[] = []
  const close = (): void => {
    const [first] = open
    const last = open.at(-1)
    if (first !== undefined && last !== undefined)
      made.push({
        start: first.start,
        end: last.end,
        text: open.map(({ word }) => word.trim()).join(' '),
        ...(first.speaker === undefined ? {} : { speaker: first.speaker }),
        figures: {},
      })
    open = []
  }
  for (const word of words) {
    const [first] = open
    const last = open.at(-1)
    if (
      first !== undefined &&
      last !== undefined &&
      (word.start - last.end > PAUSE_SECONDS ||
        word.end - first.start > SEGMENT_SECONDS_MAX ||
        word.speaker !== first.speaker)
    )
      close()
    open.push(word)
    if (SENTENCE_END.test(word.word)) close()
  }
  close()
  return made
}

/** The end of the last word in seconds; 0 if it is unknown. */
export function lastSecond({ segments, words }: Transcript): number {
  let last = 0
  for (const { end } of [...segments, ...words]) if (Number.isFinite(end) && end > last) last = end
  return last
}
