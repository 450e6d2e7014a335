import './kill9.test.ts'
