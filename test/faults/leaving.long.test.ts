import './leaving.test.ts'
