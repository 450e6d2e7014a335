import { withBundled } from './bundled.ts'
import { parseDocumentText, type CatalogDocument, type DocumentContext, type ModelEntry } from './document.ts'
import { priceFaults } from './price-doubts.ts'
import { crossProblems } from './snapshot.ts'
import type { Problem } from './source-tree.ts'

/** What is wrong with a document that was to be applied. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[], file = 'catalogue') {
    super(problems.map((problem) => problemText(problem, file)).join('\n'))
    this.problems = problems
  }
}

/** `file:line: path: message`, the parts that are known. */
export function problemText(problem: Problem, file: string): string {
  const place = problem.line > 0 ? `${file}:${problem.line}` : file
  return problem.path === '' ? `${place}: ${problem.message}` : `${place}: ${problem.path}: ${problem.message}`
}

/**
 * Everything wrong with a file's text, unroutable endpoints included; `base` = the bundled part that it will stand on,
 * `known` = models whose prices are known.
 */
export function checkText(
  text: string,
  context: DocumentContext,
  base?: CatalogDocument,
  known: readonly ModelEntry[] = [],
): { readonly document: CatalogDocument; readonly problems: readonly Problem[] } {
  const { document, problems, lineOf } = parseDocumentText(text, context)
  const faults = [
    ...soundnessProblems(document, base),
    ...priceFaults(document.models, known, document.settings.rates ?? {}),
  ]
  const found = faults.map((problem) => ({ ...problem, line: lineOf(problem.path) }))
  return { document, problems: [...problems, ...found].toSorted((left, right) => left.line - right.line) }
}

/** Faults between entries; paths count in the operator's own lists. */
export function soundnessProblems(document: CatalogDocument, base?: CatalogDocument): ReturnType<typeof crossProblems> {
  const effective = withBundled(document, base)
  return crossProblems(effective, effective.models.length - document.models.length)
}
