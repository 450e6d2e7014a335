import './operator-notices.test.ts'
