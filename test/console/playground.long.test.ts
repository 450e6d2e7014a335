import './playground.test.ts'
