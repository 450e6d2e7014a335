import { setImmediate as nextTurn } from 'node:timers/promises'
import { CatalogFaults, problemText } from '../../catalog/catalog-check.ts'
import type { Fault, Problem } from '../../catalog/source-tree.ts'
import { ApiError } from '../../base/errors.ts'
import type { CatalogProblem } from './catalog-contract.ts'

/** A text that is no catalogue at all has thousands of problems; nobody reads more than these. */
const PROBLEMS_MAX = 50

/** Refuses a document with problems, one sentence each. Endpoints that merely cannot be routed to are accepted. */
export function refuse(problems: readonly Problem[]): void {
  const fatal = problems.filter((problem) => problem.unroutable !== true)
  if (fatal.length > 0) throw problemsError(fatal)
}

function problemsError(problems: readonly Fault[]): ApiError {
  const told = problems.slice(0, PROBLEMS_MAX)
  const more = problems.length > told.length ? [`and ${problems.length - told.length} more`] : []
  const sentences = told.map((problem) => problemText({ ...problem, line: 0 }, 'body').replace(/^body: /, ''))
  const message = [...sentences, ...more].join('; ')
  const lines: readonly CatalogProblem[] = told.map(({ path, message: text, check, params }) => ({
    path,
    message: text,
    check,
    params,
  }))
  return new ApiError('invalid_input', message, { metadata: { problems: lines, problem_count: problems.length } })
}

/** A document may be 10 MB, and reading it took this turn: the changes are computed in another. */
export async function applied<T>(work: () => Promise<T>): Promise<T> {
  await nextTurn()
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof CatalogFaults) throw problemsError(thrown.faults)
    throw thrown
  }
}
