import '../long/api/responses-socket-attacks.test.ts'
