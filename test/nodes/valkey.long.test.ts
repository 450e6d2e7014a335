import './valkey.test.ts'
