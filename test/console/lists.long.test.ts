import './lists.test.ts'
