import './database-outage.test.ts'
