import './flapping.test.ts'
