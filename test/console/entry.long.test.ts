import './entry.test.ts'
