import './usage.test.ts'
