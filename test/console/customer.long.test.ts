import './customer.test.ts'
