import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from './api-client.ts'
import type { Posted } from './chat-fold.ts'
import { ApiError } from '../../src/base/errors.ts'

/** Asserts this refusal: its status, its error type and, if given, its message. */
export function refused(answer: Answer | Posted, status: number, errorType: string, message?: RegExp): void {
  const text = 'raw' in answer ? answer.raw : answer.text
  assert.equal(answer.status, status, text)
  const { error } = JSON.parse(text)
  assert.equal(error.code, status, text)
  assert.equal(error.metadata.error_type, errorType, text)
  if (message !== undefined) assert.match(error.message, message)
}

/** Asserts a 400 of a paid request. */
export function badRequest(answer: Answer, errorType: string, message: RegExp): void {
  refused(answer, 400, errorType, message)
}

/** Asserts a refusal that the console can translate: it names the field and the check, or the reason. */
export function refusedInWords(answer: Answer, status: number, errorType: string, message?: RegExp): void {
  refused(answer, status, errorType, message)
  const { field, check, problems, reason } = answer.body.error.metadata
  if (errorType === 'invalid_input')
    assert.ok((typeof field === 'string' && typeof check === 'string') || problems.length > 0, answer.text)
  if (errorType === 'conflict') assert.equal(typeof reason, 'string', answer.text)
}

/** What is wrong, the fields that make a good body bad, and what is answered. */
export type BadRequest = readonly [what: string, fields: object, message: RegExp, errorType?: string]

/** A test for each bad request: it gets a 400, and `sent`, the number of upstream requests, stays the same. */
export function badRequestTests(
  good: object,
  rows: readonly BadRequest[],
  send: (body: unknown) => Promise<Answer>,
  sent: () => number,
): void {
  for (const [what, fields, message, errorType = 'invalid_input'] of rows) {
    test(`400 ${errorType}: ${what}`, async () => {
      const before = sent()
      badRequest(await send({ ...good, ...fields }), errorType, message)
      assert.equal(sent(), before, 'nothing is sent')
    })
  }
}

/** The error that `run` throws. */
export function refusal(run: () => unknown): ApiError {
  const thrown = refusalOrNull(run)
  if (thrown === null) throw new Error('Nothing was refused.')
  return thrown
}

/** The name and the message of the error that `run` throws, or `accepted`. */
export function verdict(run: () => unknown): string {
  const thrown = refusalOrNull(run)
  return thrown === null ? 'accepted' : `${thrown.errorName} | ${thrown.message}`
}

function refusalOrNull(run: () => unknown): ApiError | null {
  try {
    run()
    return null
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown
    throw thrown
  }
}
