import './postgres-store.test.ts'
