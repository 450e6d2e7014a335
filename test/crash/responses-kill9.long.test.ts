import './responses-kill9.test.ts'
