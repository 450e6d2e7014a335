import type { Answered, Asked } from './model-protocols.ts'

/** A conversation: what the user asks, and what the model says in the end. */
export const TURNS = [
  { text: 'This is turn-one: say hello.', said: 'The first answer.' },
  { text: 'This is turn-two: write the file.', said: 'The file is there.' },
  { text: 'This is turn-three: say goodbye.', said: 'The third answer.' },
] as const

/**
 * By the newest turn of the user, which a summary of earlier ones may follow: what came after it decides whether the
 * tool has run.
 */
export function answerTo(
  { said, tools }: Asked,
  edit: (tools: readonly string[]) => Answered,
  editsInText = false,
): Answered {
  const places = ['turn-one', 'turn-two', 'turn-three'].map((word) =>
    said.findLastIndex(({ by, text }) => by === 'user' && text.includes(word)),
  )
  const turn = places.findLastIndex((place) => place >= 0)
  const last = places[turn] ?? -1
  const [first, second, third] = TURNS
  if (turn === 1) {
    const ran = said.slice(last + 1).some(({ by }) => by === 'tool')
    return !editsInText && (ran || tools.length === 0) ? { text: second.said } : edit(tools)
  }
  return { text: turn === 0 ? first.said : turn === 2 ? third.said : 'A title' }
}
