import './overload.test.ts'
