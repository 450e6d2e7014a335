import './first-steps.test.ts'
