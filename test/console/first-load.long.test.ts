import './first-load.test.ts'
