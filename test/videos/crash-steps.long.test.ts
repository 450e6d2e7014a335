import './crash-steps.test.ts'
