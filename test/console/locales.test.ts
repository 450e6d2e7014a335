import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ERRORS, type ErrorType } from '../../src/errors.ts'
import type { AttemptReason, BillingBasis, EndReason } from '../../src/ledger/generation-record.ts'
import { METERS } from '../../src/meters.ts'

const LANGUAGES = ['en', 'ru'] as const

type Texts = { readonly [name: string]: string | Texts }
// Objects of texts in JSON.
const LOCALES: readonly (readonly [string, Texts])[] = LANGUAGES.map((name) => [name, JSON.parse(readFileSync(join(import.meta.dirname, `../../console/src/locales/${name}.json`), 'utf8')) as Texts])

// Each names every member of its union, else it does not compile.
const ATTEMPT: Readonly<Record<AttemptReason, true>> = { connect: true, saturated: true, unsendable: true, timeout: true, stall: true, status: true, cut: true, garbage: true, error_event: true, too_large: true, cancelled: true, empty: true }
const FINISH: Readonly<Record<EndReason, true>> = { stop: true, length: true, tool_calls: true, content_filter: true, error: true }
const BASIS: Readonly<Record<BillingBasis, true>> = { provider_usage: true, counted: true, drained: true, free: true, provider_cost: true }

const errorTypes: readonly ErrorType[] = Object.entries(ERRORS).map(([name, row]) => ('errorType' in row ? row.errorType : (name as ErrorType)))

/** Every closed list that a page shows a member of, and where its texts are; `whole`: there are no others. */
const LISTS: readonly { readonly what: string; readonly of: string; readonly names: readonly string[]; readonly whole?: boolean }[] = [
  { what: 'errors', of: 'failure.types', names: [...new Set<string>(errorTypes), 'unreachable', 'unknown'], whole: true },
  { what: 'failures of attempts', of: 'attempt', names: Object.keys(ATTEMPT), whole: true },
  { what: 'reasons of an end', of: 'finish', names: Object.keys(FINISH), whole: true },
  { what: 'bases of a bill', of: 'request', names: Object.keys(BASIS).map((name) => `basis_${name}`) },
  { what: 'meters', of: 'meter', names: METERS, whole: true },
]

function textsAt(texts: Texts, path: string): Texts {
  const found = path.split('.').reduce<string | Texts | undefined>((at, name) => (typeof at === 'object' ? at[name] : undefined), texts)
  return typeof found === 'object' ? found : {}
}

for (const { what, of, names, whole = false } of LISTS) {
  test(`${what} of the server have a text in both languages`, () => {
    for (const [language, texts] of LOCALES) {
      const known = textsAt(texts, of)
      assert.deepEqual(names.filter((name) => typeof known[name] !== 'string' || known[name] === ''), [], `${language}: ${of}`)
      if (whole) assert.deepEqual(Object.keys(known).toSorted(), names.toSorted(), `${language}: ${of}`)
    }
  })
}

function flat(texts: Texts, path = ''): readonly (readonly [string, string])[] {
  return Object.entries(texts).flatMap(([name, inner]) => (typeof inner === 'string' ? [[`${path}${name}`, inner] as const] : flat(inner, `${path}${name}.`)))
}

/** Names of products and of headers: they are written in Latin letters in Russian too. */
const LATIN_NAMES = /HTTP-Referer|X-Title|TOLLGATE_\w+|Shift\+Enter/g

/** The one text that is for those who read the other language. */
const SAID_IN_ENGLISH = 'shell.switch_language'

test('no Russian text holds a run of English words', () => {
  for (const [language, texts] of LOCALES.filter(([name]) => name === 'ru')) {
    const mixed = flat(texts).filter(([key, text]) => key !== SAID_IN_ENGLISH && /[A-Za-z]{2,}[\s,]+[A-Za-z]{2,}/.test(text.replaceAll(/\{\{\w+\}\}/g, '·').replaceAll(LATIN_NAMES, '·')))
    assert.deepEqual(mixed, [], language)
  }
})

test('what is counted has every plural form of its language', () => {
  for (const [language, texts] of LOCALES) {
    const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories
    const found = new Map(flat(texts))
    const counted = [...found.keys()].filter((key) => key.endsWith('_other')).map((key) => key.slice(0, -'_other'.length))
    assert.ok(counted.length > 5)
    assert.deepEqual(counted.flatMap((key) => forms.map((form) => `${key}_${form}`)).filter((key) => !found.has(key)), [], language)
  }
})
