import './account-limit.test.ts'
