import './backup.test.ts'
