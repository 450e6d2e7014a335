import './long/stalls-routes.test.ts'
