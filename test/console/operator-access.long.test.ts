import './operator-access.test.ts'
