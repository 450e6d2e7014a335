import './site.test.ts'
