import './sharing.test.ts'
