import { useState } from 'react'

/**
 * What the rows that are shown were asked for. While the answer to a new question is on its way, the old rows and all
 * that belongs to them stay as they are, and are not drawn again.
 *
 * @param asked compared by identity
 * @param isOld whether the rows still answer the question before
 */
export function useShown<Question>(asked: Question, isOld: boolean): Question {
  const [shown, setShown] = useState(asked)
  if (isOld || shown === asked) return shown
  setShown(asked)
  return asked
}
