import './upgrade.test.ts'
