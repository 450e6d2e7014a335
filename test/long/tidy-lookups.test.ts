import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { SyntaxKind, type ElementAccessExpression, type Node, type SourceFile } from 'typescript/unstable/ast'
import {
  isBinaryExpression,
  isBindingElement,
  isComputedPropertyName,
  isDeleteExpression,
  isElementAccessExpression,
  isForInStatement,
} from 'typescript/unstable/ast/is'
import { API, TypeFlags, type Checker } from 'typescript/unstable/sync'
import { freshFolder } from '../harness/lasting.ts'

const ROOT = join(import.meta.dirname, '../..')
const OURS = /^(?:src|console\/src)\/.*(?<!\.test|-fixture)\.tsx?$/
/** The one place that looks up a free word in an object, after it has looked whether the object itself has it. */
const LOOKS_UP = 'src/base/own-value.ts'

/**
 * `path:line: code` of every look-up by a free word in an object that has any names: `constructor` and `toString` are
 * found in each. A value of type unknown is checked before it is used, and a function passes no check.
 */
function freeLookups(root: string, configuration: string, isChecked: (path: string) => boolean): readonly string[] {
  using api = closing(new API({ cwd: root }))
  const snapshot = api.opened.updateSnapshot({ openProjects: [join(root, configuration)] })
  return snapshot.getProjects().flatMap(({ rootFiles, program, checker }) =>
    rootFiles
      .map((file) => ({ path: relative(root, file), source: program.getSourceFile(file) }))
      .filter(({ path, source }) => source !== undefined && isChecked(path))
      .flatMap(({ path, source }) =>
        source === undefined
          ? []
          : nodesOf(source)
              .filter((node) => isFree(node, checker))
              .map((node) => `${path}:${lineOf(node, source)}: ${textOf(node, source)}`),
      ),
  )
}

function closing(opened: API): { readonly opened: API } & Disposable {
  return { opened, [Symbol.dispose]: () => opened.close() }
}

function isFree(node: Node, checker: Checker): boolean {
  const isWord = (of: Node): boolean => {
    const type = checker.getTypeAtLocation(of)
    return type !== undefined && (type.flags & (TypeFlags.String | TypeFlags.TemplateLiteral)) !== 0
  }
  if (isBindingElement(node))
    return (
      node.propertyName !== undefined &&
      isComputedPropertyName(node.propertyName) &&
      node.name?.getText() !== '_' &&
      isWord(node.propertyName.expression)
    )
  if (isBinaryExpression(node)) return node.operatorToken.kind === SyntaxKind.InKeyword && isWord(node.left)
  if (!isElementAccessExpression(node) || isWritten(node) || !isWord(node.argumentExpression)) return false
  return !isUnchecked(node.expression, checker) && !isOfLoop(node)
}

/** Whether the object's values are of type unknown. */
function isUnchecked(object: Node, checker: Checker): boolean {
  const given = checker.getTypeAtLocation(object)
  const type = given === undefined ? undefined : checker.getNonNullableType(given)
  const values = type === undefined ? [] : checker.getIndexInfosOfType(type)
  return values.length > 0 && values.every(({ valueType }) => (valueType.flags & TypeFlags.Unknown) !== 0)
}

function isWritten(node: ElementAccessExpression): boolean {
  const { parent } = node
  if (isDeleteExpression(parent)) return true
  return isBinaryExpression(parent) && parent.operatorToken.kind === SyntaxKind.EqualsToken && parent.left === node
}

/** `for (const name in headers) … headers[name]` */
function isOfLoop({ expression, argumentExpression, parent }: ElementAccessExpression): boolean {
  for (let around: Node | undefined = parent; around !== undefined; around = around.parent)
    if (
      isForInStatement(around) &&
      around.expression.getText() === expression.getText() &&
      around.initializer.getText() === `const ${argumentExpression.getText()}`
    )
      return true
  return false
}

function nodesOf(node: Node): readonly Node[] {
  const nodes: Node[] = []
  const visit = (child: Node): void => {
    nodes.push(child)
    child.forEachChild(visit)
  }
  node.forEachChild(visit)
  return nodes
}

function textOf(node: Node, source: SourceFile): string {
  return source.text.slice(node.pos, node.end).trim()
}

function lineOf(node: Node, source: SourceFile): number {
  return source.text.slice(0, node.end - textOf(node, source).length).split('\n').length
}

test('a word of a client, a provider or a file finds nothing that every object inherits: ownValue or a Map looks it up', () => {
  const found = ['tsconfig.json', 'console/tsconfig.json'].flatMap((configuration) =>
    freeLookups(ROOT, configuration, (path) => OURS.test(path) && path !== LOOKS_UP),
  )
  assert.deepEqual([...new Set(found)], [])
})

test('the rule sees what it is for', () => {
  const folder = freshFolder()
  writeFileSync(join(folder, 'tsconfig.json'), '{"compilerOptions":{"strict":true,"noUncheckedIndexedAccess":true}}')
  writeFileSync(
    join(folder, 'x.ts'),
    [
      'declare const word: string, known: "a" | "b", at: number',
      'const TABLE: Readonly<Record<string, string>> = { a: "" }',
      'const JSON_OF: Readonly<Record<string, unknown>> = {}',
      'export const lines = [TABLE[word], TABLE[`${word}s`], TABLE?.[word], word in TABLE]',
      'export const others = [TABLE[known], TABLE["a"], JSON_OF[word], ["a"][at], Object.hasOwn(TABLE, word)]',
      'if (JSON_OF[word] !== undefined) others.push(JSON_OF[word])',
      'export const { [word]: found, ["a"]: own, [word]: _, ...rest } = TABLE',
      'for (const name in TABLE) others.push(TABLE[name])',
    ].join('\n'),
  )
  assert.deepEqual(
    freeLookups(folder, 'tsconfig.json', () => true),
    [
      'x.ts:4: TABLE[word]',
      'x.ts:4: TABLE[`${word}s`]',
      'x.ts:4: TABLE?.[word]',
      'x.ts:4: word in TABLE',
      'x.ts:7: [word]: found',
    ],
  )
})
