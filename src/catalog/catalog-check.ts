import { withBundled } from './bundled.ts'
import { readCertificates } from './certificates.ts'
import type { CatalogDocument, ModelEntry } from './document.ts'
import { parseDocumentText, type DocumentContext } from './document-reader.ts'
import { priceFaults } from './price-doubts.ts'
import { crossProblems } from './snapshot.ts'
import type { Fault, FileProblem } from './source-tree.ts'

/** A document that cannot be applied, with its problems. */
export class CatalogError extends Error {
  override readonly name: string = 'CatalogError'

  constructor(problems: readonly FileProblem[], file = 'catalogue') {
    super(problems.map((problem) => problemText(problem, file)).join('\n'))
  }
}

/** The same for a document from the API: each fault has the name of its check. */
export class CatalogFaults extends CatalogError {
  override readonly name = 'CatalogFaults'
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super(faults.map((found) => ({ ...found, line: 0 })))
    this.faults = faults
  }
}

/** `file:line: path: message`, without the parts that are not known. */
export function problemText(problem: FileProblem, file: string): string {
  const place = problem.line > 0 ? `${file}:${problem.line}` : file
  return problem.path === '' ? `${place}: ${problem.message}` : `${place}: ${problem.path}: ${problem.message}`
}

/**
 * All problems of a file's text, unroutable endpoints included. `base` = the bundled part under it, `known` = models
 * with known prices.
 */
export function checkText(
  text: string,
  context: DocumentContext,
  base?: CatalogDocument,
  known: readonly ModelEntry[] = [],
): { readonly document: CatalogDocument; readonly problems: readonly FileProblem[] } {
  const { document, problems, lineOf } = parseDocumentText(text, context)
  const faults = [
    ...soundnessProblems(document, base),
    ...priceFaults(document.models, known, document.settings.rates ?? {}),
  ]
  const found = [...faults, ...certificateFaults(document)].map((problem) => ({
    ...problem,
    line: lineOf(problem.path),
  }))
  return { document, problems: [...problems, ...found].toSorted((left, right) => left.line - right.line) }
}

/**
 * Problems of certificate files, for the operator's file only: an answer of the API would reveal which files the server
 * can read.
 */
function certificateFaults({ providers }: CatalogDocument): readonly Omit<FileProblem, 'line'>[] {
  return Object.entries(providers).flatMap(([slug, { dialect }]) => {
    const path = dialect?.ca_file
    return path === undefined || readCertificates(path) !== null
      ? []
      : [{ path: `providers.${slug}.dialect.ca_file`, message: `no certificates can be read from '${path}'` }]
  })
}

/** Faults between entries; the indexes in paths count in the operator's lists. */
export function soundnessProblems(document: CatalogDocument, base?: CatalogDocument): readonly Fault[] {
  const effective = withBundled(document, base)
  return crossProblems(effective, effective.models.length - document.models.length)
}
