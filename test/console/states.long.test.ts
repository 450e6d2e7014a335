import './states.test.ts'
