import './log.test.ts'
