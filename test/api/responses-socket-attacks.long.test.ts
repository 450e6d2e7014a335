import './responses-socket-attacks.test.ts'
