import './row-journal.test.ts'
