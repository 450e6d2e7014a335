import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerPurpose } from './idempotency/idempotency-store.ts'
import { jobPurpose } from './jobs/job-store.ts'
import { rewrapAnswers, rewrapJobs } from './rewrap.ts'
import { KeyWrap, newWrappingKey } from '../ledger/key-wrap.ts'

const OLD = newWrappingKey()
const NEXT = newWrappingKey()
const PLAIN = Buffer.from('what was asked for')

test('what jobs and answers are encrypted with is the first key afterwards; what no key opens stays as it is', async () => {
  const both = new KeyWrap([NEXT, OLD])
  const alone = new KeyWrap([NEXT])
  const [lost, jobs, answers] = [Buffer.from('of a key that is gone'), [] as Buffer[], [] as Buffer[]]
  const count = await rewrapJobs(
    {
      rewrap: async (change) => {
        jobs.push(change('job-1', new KeyWrap([OLD]).encrypt(PLAIN, jobPurpose('job-1'))), change('job-2', lost))
        return jobs.length
      },
    },
    both,
  )
  await rewrapAnswers(
    {
      rewrap: async (change) =>
        void answers.push(
          change('id', 'gen-1', new KeyWrap([OLD]).encrypt(PLAIN, answerPurpose('id', 'gen-1'))),
          change('id', 'gen-2', lost),
        ),
    },
    both,
  )
  assert.equal(count, 2)
  assert.deepEqual(alone.decrypt(jobs[0] ?? lost, jobPurpose('job-1')), PLAIN)
  assert.deepEqual(alone.decrypt(answers[0] ?? lost, answerPurpose('id', 'gen-1')), PLAIN)
  assert.deepEqual([jobs[1], answers[1]], [lost, lost])
})
