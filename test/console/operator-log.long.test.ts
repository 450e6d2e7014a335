import './operator-log.test.ts'
