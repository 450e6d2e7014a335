import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { focusWorld, type Customer } from '../api/focus-world.ts'
import type { Gateway } from '../harness/gateway.ts'
import { freshFolder } from '../harness/lasting.ts'

/** A Python of 3.12 with focus-validator 2.2.1 and pyarrow below 22: 645 MB with what they need. */
const PYTHON = process.env['TOLLGATE_TEST_FOCUS'] ?? ''
/** The validator opens its list of currencies by a path below its packages, so it runs there. */
const PACKAGES = "import focus_validator, os; print(os.path.dirname(os.path.dirname(focus_validator.__file__)), end='')"
/**
 * The other arm of an OR: InvoiceId is null (C-004), since there are no invoices, or it is not (C-005). The validator
 * reports the arm, though the rule above both holds.
 */
const OTHER_ARM = 'InvoiceId-C-005-C'
/** What we have of what the specification leaves open. */
const CRITERIA = 'ACCOUNT_NAMING_SUPPORTED,USAGE_MEASUREMENT_SUPPORTED,SUB_ACCOUNT_SUPPORTED'

let server: Gateway
let one: Customer

const packages = (await promisify(execFile)(PYTHON, ['-c', PACKAGES])).stdout
const folder = freshFolder()
;({ server, one } = await focusWorld())

/** What the FinOps Foundation's own program says of a file: how many rules hold, and those that do not. */
async function judged(csv: string): Promise<{ readonly passed: number; readonly failed: readonly string[] }> {
  const file = join(folder, 'focus.csv')
  writeFileSync(file, csv)
  const { stdout } = await promisify(execFile)(
    PYTHON,
    `-m focus_validator.main --data-file ${file} --validate-version 1.2 --block-download --show-violations --applicability-criteria ${CRITERIA}`.split(
      ' ',
    ),
    { cwd: packages, timeout: 300_000, maxBuffer: 64 * 1_048_576 },
  )
  const [, passed = ''] = /^Total: \d+ \| Pass: (\d+) \|/m.exec(stdout) ?? []
  assert.notEqual(passed, '', stdout)
  const [, failures = ''] = stdout.split('--- Failures ---')
  return {
    passed: Number(passed),
    failed: failures
      .split('\n- ')
      .slice(1)
      .filter((failure) => !failure.startsWith(`${OTHER_ARM}: `)),
  }
}

test("the FinOps Foundation's validator finds no fault in the exports, and finds those that are put in", async () => {
  const whole = (await server.admin('GET', '/admin/v1/focus.csv')).text
  for (const csv of [whole, (await one.browser.get('focus.csv')).text]) {
    const { passed, failed } = await judged(csv)
    assert.deepEqual(failed, [])
    assert.ok(passed > 100, String(passed))
  }
  assert.notDeepEqual((await judged(whole.replaceAll(',RUB,', ',rubles,'))).failed, [])
})
