import './damaged-events.test.ts'
