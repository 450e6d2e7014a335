import './sqlite-store.test.ts'
