import './process.test.ts'
