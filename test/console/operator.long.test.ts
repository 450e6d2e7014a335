import './operator.test.ts'
