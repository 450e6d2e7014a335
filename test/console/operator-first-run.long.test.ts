import './operator-first-run.test.ts'
