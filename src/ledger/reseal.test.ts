import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerPurpose } from '../store/idempotency-store.ts'
import { jobPurpose } from '../store/job-store.ts'
import { resealAnswers } from './reseal-answers.ts'
import { resealJobs } from './reseal-jobs.ts'
import { KeyWrap, newWrappingKey } from './seal.ts'

const OLD = newWrappingKey()
const NEXT = newWrappingKey()
const PLAIN = Buffer.from('what was asked for')

test('what jobs and answers are sealed with is the first key afterwards; what no key opens stays as it is', async () => {
  const both = new KeyWrap([NEXT, OLD])
  const alone = new KeyWrap([NEXT])
  const [lost, jobs, answers] = [Buffer.from('of a key that is gone'), [] as Buffer[], [] as Buffer[]]
  const count = await resealJobs(
    {
      reseal: async (change) => {
        jobs.push(change('job-1', new KeyWrap([OLD]).seal(PLAIN, jobPurpose('job-1'))), change('job-2', lost))
        return jobs.length
      },
    },
    both,
  )
  await resealAnswers(
    {
      reseal: async (change) =>
        void answers.push(
          change('id', 'gen-1', new KeyWrap([OLD]).seal(PLAIN, answerPurpose('id', 'gen-1'))),
          change('id', 'gen-2', lost),
        ),
    },
    both,
  )
  assert.equal(count, 2)
  assert.deepEqual(alone.open(jobs[0] ?? lost, jobPurpose('job-1')), PLAIN)
  assert.deepEqual(alone.open(answers[0] ?? lost, answerPurpose('id', 'gen-1')), PLAIN)
  assert.deepEqual([jobs[1], answers[1]], [lost, lost])
})
