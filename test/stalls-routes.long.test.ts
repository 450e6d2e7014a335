import './stalls-routes.test.ts'
