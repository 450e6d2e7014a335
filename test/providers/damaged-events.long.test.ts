import '../long/providers/damaged-events.test.ts'
