import './clients.test.ts'
