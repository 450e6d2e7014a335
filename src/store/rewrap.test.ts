import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerPurpose } from './idempotency/idempotency-store.ts'
import { jobPurpose } from './jobs/job-store.ts'
import { rewrapContents, type EncryptAgain } from './rewrap.ts'
import { KeyWrap, newWrappingKey } from '../ledger/key-wrap.ts'

const OLD = newWrappingKey()
const NEXT = newWrappingKey()
const PLAIN = Buffer.from('what was asked for')

test('what jobs and answers are encrypted with is the first key afterwards; what no key opens stays as it is', async () => {
  const both = new KeyWrap([NEXT, OLD])
  const alone = new KeyWrap([NEXT])
  const [lost, jobs, answers] = [Buffer.from('of a key that is gone'), [] as Buffer[], [] as Buffer[]]
  const old = (purpose: string): Buffer => new KeyWrap([OLD]).encrypt(PLAIN, purpose)
  await rewrapContents(
    {
      jobs: {
        encryptAgain: async (encrypt: EncryptAgain) =>
          jobs.push(encrypt(jobPurpose('job-1'), old(jobPurpose('job-1'))), encrypt(jobPurpose('job-2'), lost)),
      },
      idempotency: {
        encryptAgain: async (encrypt: EncryptAgain) =>
          answers.push(
            encrypt(answerPurpose('id', 'gen-1'), old(answerPurpose('id', 'gen-1'))),
            encrypt(answerPurpose('id', 'gen-2'), lost),
          ),
      },
      others: { rewrap: () => assert.fail('it has no such contents') },
      nodes: null,
    },
    both,
  )
  assert.deepEqual(alone.decrypt(jobs[0] ?? lost, jobPurpose('job-1')), PLAIN)
  assert.deepEqual(alone.decrypt(answers[0] ?? lost, answerPurpose('id', 'gen-1')), PLAIN)
  assert.deepEqual([jobs[1], answers[1]], [lost, lost])
})
