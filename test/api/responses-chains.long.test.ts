import './responses-chains.test.ts'
