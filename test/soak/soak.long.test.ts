import './soak.test.ts'
