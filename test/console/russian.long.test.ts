import './russian.test.ts'
