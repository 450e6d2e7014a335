import { describe } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { accountLimitsContract } from './account-limits-contract.ts'
import { claimsContract } from './claims-contract.ts'
import { filesContract } from './files-contract.ts'
import { guardContract } from './guard-contract.ts'
import { jobsContract } from './jobs-contract.ts'
import { ledgerContract } from './ledger-contract.ts'
import { logContract } from './log-contract.ts'
import { noticesContract } from './notices-contract.ts'
import { recordsContract } from './records-contract.ts'
import { refusalsContract } from './refusals-contract.ts'
import { responsesContract } from './responses-contract.ts'
import { wordsContract } from './words-contract.ts'

/** The guarantees of every store; each test gets a fresh store from `open`. */
export function storeContract(open: () => Promise<Store>): void {
  describe('ledger', () => ledgerContract(open))
  describe('limits of accounts', () => accountLimitsContract(open))
  describe('free rules', () => guardContract(open))
  describe('records', () => recordsContract(open))
  describe('log', () => logContract(open))
  describe('files', () => filesContract(open))
  describe('jobs', () => jobsContract(open))
  describe('claims', () => claimsContract(open))
  describe('refusals', () => refusalsContract(open))
  describe('responses', () => responsesContract(open))
  describe('notices', () => noticesContract(open))
  describe('words', () => wordsContract(open))
}
