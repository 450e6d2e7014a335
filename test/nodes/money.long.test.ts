import './money.test.ts'
